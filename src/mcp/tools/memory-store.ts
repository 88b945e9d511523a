import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import { isAllowed } from '../../seams/approval.ts';
import { originOf } from '../../seams/chat-memory.ts';
import type { SessionCall } from '../sessions/session-call.ts';
import { defineTool } from '../tool.ts';

const entry = {
  content: z.string().min(1).max(100_000),
  category: z
    .string()
    .default('project')
    .describe('core, project, conversation, daily, scratch, or another.'),
  source: z.string().min(1).default('mcp').describe('The source: a file, a URL, a chat.'),
  tags: z.array(z.string()).max(16).optional(),
  id: z.string().min(1).optional(),
};

export const memoryStore = defineTool({
  name: 'memory_store',
  title: 'Store in memory',
  description:
    'Stores a fact, a decision or a lesson. Secrets are removed before storing. The id of an existing entry creates its next version.',
  effect: 'changes',
  input: z.strictObject(entry),
  run: ({ id, tags, ...entry }, { client, signal }) =>
    client.ingest({ ...entry, ...(id !== undefined && { id }), ...(tags && { tags }) }, { signal }),
});

const inSession = z.strictObject({
  ...entry,
  for_all_chats: z
    .boolean()
    .default(false)
    .describe('Shared with every chat of the user. The user is asked first.'),
});

/** Stores for its own chat, unless a person allows it for all chats. */
export const sessionMemoryStore = defineTool<typeof inSession, SessionCall>({
  name: 'memory_store',
  title: 'Store in memory',
  description:
    'Stores a fact, a decision or a lesson for this chat. Secrets are removed before storing. The id of an existing entry of this chat creates its next version.',
  effect: 'changes',
  waitsFor: 'person',
  input: inSession,
  async run({ id, tags, for_all_chats: forAll, ...given }, call) {
    const { client, session, signal } = call;
    const stored = { ...given, ...(tags && { tags }) };
    if (!forAll) return client.ingest({ ...stored, ...(id !== undefined && { id }) }, { signal });
    await allowed(call, given);
    const { chat } = session;
    const shared = await call.userMemory();
    // Prefixed, so that no id chosen by a program is that of an entry from elsewhere.
    const key = id === undefined ? {} : { id: `chat/${chat}/${id}` };
    return shared.ingest({ ...stored, ...key, source: originOf(chat, given.source) }, { signal });
  },
});

/** The person sees everything that is stored. */
async function allowed(
  { approvals, session, waitMs, signal }: SessionCall,
  { content, category }: Pick<z.infer<typeof inSession>, 'content' | 'category'>,
): Promise<void> {
  const { user, chat, sandboxId: sandbox } = session;
  const approval = await approvals.ask(
    {
      ...{ user, chat, sandbox, waitMs },
      kind: 'tool',
      title: `Remember this for all chats (${category.slice(0, 100)})`,
      detail: content,
      choices: ['allow-once', 'deny'],
    },
    { signal },
  );
  if (isAllowed(approval)) return;
  throw new GeodeError('forbidden', 'Storing it for all chats was denied.', {
    hint: 'Store it for this chat only.',
  });
}
