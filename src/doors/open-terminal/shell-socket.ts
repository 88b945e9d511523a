/**
 * The WebSocket of a shell: bytes both ways. Clients send no key with its handshake: the first message has it, and is
 * then checked as the same request with a key would be.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { SocketConversation } from '../../api/conversation.ts';
import type { ApiEnv, Upgrade } from '../../api/environment.ts';
import { leadConversation } from '../../api/upgrade.ts';
import { parsedJson } from '../../base/json.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';
import type { Process, ProcessFacts } from '../../seams/process.ts';

const firstMessageMs = 10_000;
const codes = { unknownKey: 4001, notYours: 4004, taken: 4009 };
const firstSchema = z.object({ type: z.literal('auth'), token: z.string(), chat_id: z.string().nullish() });
const resizeSchema = z.object({
  type: z.literal('resize'),
  cols: z.int().min(1).max(1000).default(80),
  rows: z.int().min(1).max(1000).default(24),
});

/** Shells with a client, by sandbox and process. */
export type OpenShells = Set<string>;

/** Sends a request through the whole server. */
type Ask = (request: Request, env: ApiEnv['Bindings']) => Response | Promise<Response>;

/** Reads the key from the first message, then sends the request again with it. `known` collects the checked upgrades. */
export function awaitKey(context: Context<ApiEnv>, ask: Ask, known: WeakSet<Upgrade>): Response {
  const { req, env } = context;
  return leadConversation(context, async (conversation) => {
    const first = await firstMessage(conversation);
    if (first === undefined) return conversation.close(codes.unknownKey, 'Auth timeout or invalid payload');
    let lead: Parameters<Upgrade['accept']>[0] | undefined;
    const upgrade: Upgrade = {
      accept(given) {
        lead = given;
      },
    };
    known.add(upgrade);
    const user = req.header('x-user-id') || req.query('user_id');
    const session = req.header('x-session-id') ?? first.chat_id ?? '';
    const context = req.header('x-terminal-context-id');
    const headers = {
      host: 'localhost',
      authorization: `Bearer ${first.token}`,
      'x-session-id': session,
      ...(user && { 'x-user-id': user }),
      ...(context !== undefined && { 'x-terminal-context-id': context }),
    };
    const url = `http://localhost${req.path}`;
    const { status } = await ask(new Request(url, { headers, signal: conversation.signal }), {
      ...env,
      upgrade,
    });
    if (lead !== undefined) return await lead(conversation);
    const isUnknown = status === 401 || status === 403;
    await conversation.close(
      isUnknown ? codes.unknownKey : codes.notYours,
      isUnknown ? 'Invalid API key' : 'Session not found',
    );
  });
}

async function firstMessage(
  conversation: SocketConversation,
): Promise<z.infer<typeof firstSchema> | undefined> {
  const late = new AbortController();
  try {
    const waiting = delay(firstMessageMs, undefined, { signal: late.signal }).catch(() => undefined);
    return await Promise.race([conversation.first(firstSchema).catch(() => undefined), waiting]);
  } finally {
    late.abort();
  }
}

interface Shell {
  readonly sandbox: PersistentSandbox;
  readonly facts: ProcessFacts;
  readonly open: OpenShells;
  readonly stopping: AbortSignal;
}

/** A client that leaves ends its shell; a server that stops does not. */
export async function joinShell(
  conversation: SocketConversation,
  { sandbox, facts, open, stopping }: Shell,
): Promise<void> {
  const name = `${sandbox.id} ${facts.id}`;
  if (open.has(name)) return conversation.close(codes.taken, 'Session already connected');
  open.add(name);
  try {
    const process = await sandbox.attach(facts.id, { signal: conversation.signal });
    const typing = type(conversation, process);
    const events = sandbox.journals.open(facts.id).follow(0, { signal: conversation.signal });
    try {
      for await (const event of events)
        if (event.type === 'stdout') await conversation.sendBytes(event.bytes);
    } catch (error) {
      if (!conversation.signal.aborted) throw error;
    }
    await conversation.close(1000, '');
    await typing;
    if (!stopping.aborted) await process.kill();
  } finally {
    open.delete(name);
  }
}

async function type(conversation: SocketConversation, process: Process): Promise<void> {
  for await (const message of conversation.messages()) {
    try {
      if (message.type === 'bytes') await process.write(message.bytes);
      else {
        const size = resizeSchema.safeParse(parsedJson(message.text)).data;
        if (size !== undefined) await process.resize({ columns: size.cols, rows: size.rows });
      }
    } catch {
      // The shell has ended: its last output says so.
    }
  }
}
