/** Tools with which the agent schedules messages in its own chat. */
import { GeodeError } from '../../base/errors.ts';
import type { UserSchedules } from '../../seams/chat.ts';
import { scheduleAddInput, scheduleListInput, scheduleRemoveInput } from '../../seams/schedule-tools.ts';
import { type AgentTool, type HostPlace, onHost } from './agent-tool.ts';

export const scheduleTools: readonly AgentTool<HostPlace>[] = [
  onHost({
    name: 'schedule_add',
    description:
      'Schedules a message to you in this chat, as if the person had written it. Use it when the person asks for something later or regularly.',
    input: scheduleAddInput,
    async run({ when, text, catch_up: catchUp }, place) {
      const { id, next } = schedulesOf(place).add(place.chat, { when, text, catchUp }, agentOf(place));
      return `Schedule ${id}: next at ${new Date(next).toISOString()}.`;
    },
  }),
  onHost({
    name: 'schedule_list',
    description: 'Lists the scheduled messages of this chat.',
    input: scheduleListInput,
    async run(_, place) {
      const found = schedulesOf(place).list(place.chat);
      const lines = found.map(
        ({ id, when, text, next }) => `${id} ${when}: ${text} (next ${new Date(next).toISOString()})`,
      );
      return lines.join('\n') || 'There are no schedules.';
    },
  }),
  onHost({
    name: 'schedule_remove',
    description: 'Removes a schedule of this chat.',
    input: scheduleRemoveInput,
    async run({ id }, place) {
      const isOwn = schedulesOf(place)
        .list(place.chat)
        .some((each) => each.id === id);
      if (!isOwn || !schedulesOf(place).remove(id, agentOf(place))) return `This chat has no schedule ${id}.`;
      return `Removed schedule ${id}.`;
    },
  }),
];

/** Stored in the record. */
function agentOf({ chat }: HostPlace): string {
  return `the agent of ${chat}`;
}

function schedulesOf({ schedules }: HostPlace): UserSchedules {
  if (schedules !== undefined) return schedules;
  throw new GeodeError('stopping', 'Schedules are not available at the moment.', { hint: 'Try again.' });
}
