/** Scheduled messages for the chat of a session. A session sees only the schedules of its own chat. */
import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import { isAllowed } from '../../seams/approval.ts';
import { type ChatSchedule, catchUps } from '../../seams/chat.ts';
import type { SessionCall, SessionTool } from '../sessions/session-call.ts';
import { defineTool } from '../tool.ts';

const added = z.strictObject({
  when: z
    .string()
    .min(1)
    .max(200)
    .describe('`0 9 * * 1-5 Europe/Berlin`, `every 2h`, `in 20m` or `2027-01-31T09:00`.'),
  text: z.string().min(1).max(10_000),
  catch_up: z
    .enum(catchUps)
    .default('once')
    .describe('For times that passed while no host ran: send one message, or none.'),
});
const nothing = z.strictObject({});
const removed = z.strictObject({ id: z.string().min(1).max(20) });

export const scheduleTools: readonly SessionTool[] = [
  defineTool<typeof added, SessionCall>({
    name: 'schedule_add',
    title: 'Add a schedule',
    description:
      'Schedules a message in this chat, as if the person had written it: the agent of the chat answers it. Use it when the person asks for something later or regularly. The person is asked first.',
    effect: 'changes',
    waitsFor: 'person',
    input: added,
    async run({ when, text, catch_up: catchUp }, call) {
      const { client, session, rules, signal } = call;
      const { chat } = session;
      if ((await client.chats.schedules({ chat, signal })).length >= rules.mostSchedules)
        throw new GeodeError('too_many_schedules', `The chat already has ${rules.mostSchedules} schedules.`);
      if (rules.schedules === 'ask') await allowed(call, when, text);
      return shown(await client.chats.schedule(chat, { when, text, catchUp }, { signal }));
    },
  }),
  defineTool<typeof nothing, SessionCall>({
    name: 'schedule_list',
    title: 'List schedules',
    description: 'Lists the scheduled messages of this chat.',
    effect: 'reads',
    input: nothing,
    run: async (_, { client, session: { chat }, signal }) => ({
      schedules: (await client.chats.schedules({ chat, signal })).map(shown),
    }),
  }),
  defineTool<typeof removed, SessionCall>({
    name: 'schedule_remove',
    title: 'Remove a schedule',
    description: 'Removes a schedule of this chat.',
    effect: 'changes',
    input: removed,
    async run({ id }, { client, session: { chat }, signal }) {
      const own = await client.chats.schedules({ chat, signal });
      const isOwn = own.some((schedule) => schedule.id === id);
      return { removed: isOwn && (await client.chats.unschedule(id, { signal })) };
    },
  }),
];

/** Any program in the sandbox can call the tool, and a scheduled message counts as written by the person. */
async function allowed(
  { approvals, session, waitMs, signal }: SessionCall,
  when: string,
  text: string,
): Promise<void> {
  const { user, chat, sandboxId: sandbox } = session;
  const approval = await approvals.ask(
    {
      ...{ user, chat, sandbox, waitMs },
      kind: 'tool',
      title: `Schedule in this chat: ${when}`,
      detail: text,
      choices: ['allow-once', 'deny'],
    },
    { signal },
  );
  if (isAllowed(approval)) return;
  throw new GeodeError('forbidden', 'The schedule was denied.', {
    hint: 'Continue without it, or ask the user in other words.',
  });
}

function shown({ id, when, text, next }: ChatSchedule): object {
  return { id, when, text, next: new Date(next).toISOString() };
}
