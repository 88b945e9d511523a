/** Scheduled messages for the chat of a session. A session sees only the schedules of its own chat. */
import { GeodeError } from '../../base/errors.ts';
import { isAllowed } from '../../seams/approval.ts';
import type { ChatSchedule } from '../../seams/chat.ts';
import { scheduleAddInput, scheduleListInput, scheduleRemoveInput } from '../../seams/schedule-tools.ts';
import type { SessionCall, SessionTool } from '../sessions/session-call.ts';
import { defineTool } from '../tool.ts';

export const scheduleTools: readonly SessionTool[] = [
  defineTool<typeof scheduleAddInput, SessionCall>({
    name: 'schedule_add',
    title: 'Add a schedule',
    description:
      'Schedules a message in this chat, as if the person had written it: the agent of the chat answers it. Use it when the person asks for something later or regularly. The person is asked first.',
    effect: 'changes',
    waitsFor: 'person',
    input: scheduleAddInput,
    async run({ when, text, catch_up: catchUp }, call) {
      const { client, session, rules, signal } = call;
      const { chat } = session;
      if ((await client.chats.schedules({ chat, signal })).length >= rules.mostSchedules)
        throw new GeodeError('too_many_schedules', `The chat already has ${rules.mostSchedules} schedules.`);
      if (rules.schedules === 'ask') await allowed(call, when, text);
      return shown(await client.chats.schedule(chat, { when, text, catchUp }, { signal }));
    },
  }),
  defineTool<typeof scheduleListInput, SessionCall>({
    name: 'schedule_list',
    title: 'List schedules',
    description: 'Lists the scheduled messages of this chat.',
    effect: 'reads',
    input: scheduleListInput,
    run: async (_, { client, session: { chat }, signal }) => ({
      schedules: (await client.chats.schedules({ chat, signal })).map(shown),
    }),
  }),
  defineTool<typeof scheduleRemoveInput, SessionCall>({
    name: 'schedule_remove',
    title: 'Remove a schedule',
    description: 'Removes a schedule of this chat.',
    effect: 'changes',
    input: scheduleRemoveInput,
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
