/** Chat commands that need more than one line. */

import { isGeodeError } from '../base/errors.ts';
import type { ChatSchedule } from '../seams/chat.ts';
import { type CommandScene, commandIn } from './commands.ts';

export async function status({ chat, agents, bus, sandboxes, spending, during, signal }: CommandScene) {
  const conversation = agents.list().find((each) => each.chat === chat.name);
  const sandbox = await sandboxes.inspect(chat.name, { signal }).catch((error) => {
    if (isGeodeError(error, 'sandbox_not_found')) return undefined;
    throw error;
  });
  const { waiting, running } = await bus.counts();
  const lines = [
    `Run: ${conversation?.state ?? 'idle'}`,
    conversation === undefined
      ? 'Session: new'
      : `Session: ${conversation.turns} turns since ${timeText(conversation.createdAt)}, $${conversation.cost.toFixed(2)}`,
    `Messages during a run: ${(chat.during ?? during) === 'steer' ? 'added to it (/steer off)' : 'wait (/steer on)'}`,
    `Model: ${chat.model ?? conversation?.model ?? 'default'}`,
    `Sandbox: ${sandbox === undefined ? 'none yet' : `${sandbox.state}, isolation ${sandbox.grade ?? 'not known'}`}`,
    `All chats: ${running} running, ${waiting} waiting`,
    spending,
  ];
  return { text: lines.join('\n') };
}

export async function stop({ chat, agents, bus, words, signal }: CommandScene) {
  const dropped = words.toLowerCase() === 'all' ? await bus.drop(chat.lane) : 0;
  const stopped = await agents.interrupt(chat.name, { signal }).catch((error) => {
    if (isGeodeError(error, 'agent_not_found')) return false;
    throw error;
  });
  const forgotten = dropped === 0 ? '' : `${dropped} waiting messages were dropped.`;
  return { text: `${stopped ? 'Stopped.' : 'Nothing was running.'}${forgotten}` };
}

export async function newConversation({ chat, agents, sandboxes, words, signal }: CommandScene) {
  const word = words.toLowerCase();
  if (word !== '' && word !== 'empty') return { text: 'Use `/new` or `/new empty`.' };
  await agents.stop(chat.name, { signal });
  if (word === 'empty') {
    await sandboxes.remove(chat.name, { signal });
    return { text: 'A new conversation starts, in a new sandbox without files.' };
  }
  return {
    text: 'A new conversation starts. The files are unchanged; the old conversation stays on record.',
  };
}

export async function steer({ chat, chats, words, during }: CommandScene) {
  const word = words.toLowerCase();
  if (word === 'on' || word === 'off') chats.setDuring(chat.lane, word === 'on' ? 'steer' : 'follow');
  else if (word !== '') return { text: 'Say `/steer on` or `/steer off`.' };
  const now = word === 'on' ? 'steer' : word === 'off' ? 'follow' : (chat.during ?? during);
  return {
    text:
      now === 'steer'
        ? 'Messages during a run will be added to it.'
        : 'Messages during a run wait for its end.',
  };
}

/** Only the owner may use this command. */
export async function share({ chat, chats, words }: CommandScene) {
  const word = words.toLowerCase();
  if (!chat.isGroup) return { text: 'This command is for groups: nobody else reads this chat.' };
  if (word !== '' && word !== 'on' && word !== 'off') return { text: 'Say `/share on` or `/share off`.' };
  if (word !== '') chats.setShared(chat.lane, word === 'on');
  const isShared = word === '' ? chat.isShared : word === 'on';
  return {
    text: isShared
      ? 'Everybody paired with this gateway may now speak to the agent here. It works in your sandbox and on your budget. Only you can approve its requests and stop it.'
      : 'Only you may speak to the agent here.',
  };
}

export async function undo({ chat, sandboxes, signal }: CommandScene) {
  try {
    const { snapshots } = await sandboxes.start(chat.name, { signal });
    if (snapshots === undefined) return { text: 'The files are not stored where changes can be undone.' };
    await snapshots.undo({ signal });
    return { text: 'Undid the last change of the files.' };
  } catch (error) {
    if (isGeodeError(error, 'sandbox_not_found') || isGeodeError(error, 'snapshot_not_found'))
      return { text: 'There is nothing to undo.' };
    throw error;
  }
}

export async function model({ chat, chats, agents, words, refusedModel, signal }: CommandScene) {
  if (words === '') return { text: `The model of this chat: ${chat.model ?? 'the usual one'}.` };
  if (!/^[\w.:@-]+(\/[\w.:@/-]+)?$/.test(words))
    return { text: 'That is not a model name. Use SERVICE/MODEL.' };
  const refusal = words === 'default' ? undefined : refusedModel(words);
  if (refusal !== undefined) return { text: `${refusal} The conversation continues with its current model.` };
  await agents.stop(chat.name, { signal });
  chats.setModel(chat.lane, words === 'default' ? null : words);
  return { text: `Now using ${words}. A new conversation starts.` };
}

export async function file({ words }: CommandScene) {
  if (words === '') return { text: 'Say which: `/file PATH`.' };
  return { text: words, file: words };
}

export async function schedule({ chat, words, schedules, by }: CommandScene) {
  if (words === '') return { text: listText(schedules.list(chat)) };
  const [, when, text] = /^([\s\S]+?):\s([\s\S]+)$/.exec(words) ?? [];
  if (when === undefined || text === undefined || commandIn(text) !== undefined)
    return { text: 'Give the time and the text: `/schedule 0 9 * * 1-5: sum up the news`.' };
  const made = schedules.add(chat, { when: when.trim(), text: text.trim() }, by);
  return { text: `Schedule \`${made.id}\`: next on ${timeText(made.next)}.` };
}

export async function unschedule({ chat, words, schedules, by }: CommandScene) {
  const id = words.toLowerCase();
  const isOwn = schedules.list(chat).some((each) => each.id === id);
  return {
    text:
      isOwn && schedules.remove(chat.user, id, by) ? `Removed schedule ${id}.` : 'There is no such schedule.',
  };
}

function listText(found: readonly ChatSchedule[]): string {
  if (found.length === 0) return 'This chat has no schedules.';
  return found
    .map(({ id, when, text, next }) => `\`${id}\` ${when}: ${text} (next ${timeText(next)})`)
    .join('\n');
}

function timeText(time: number): string {
  return `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
