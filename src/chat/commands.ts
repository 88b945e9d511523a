/** What a person says to the gateway itself, in any chat. */
import type { UserAgents } from '../core/agent.ts';
import type { Bus } from '../core/bus.ts';
import type { ChatSchedule } from '../core/chat.ts';
import { isGeodeError } from '../core/errors.ts';
import type { UserSandboxes } from '../core/persistent.ts';
import type { Asks } from './asks.ts';
import type { ChatTable, DuringTurn, KnownChat } from './chat-table.ts';
import type { Pairings } from './pairings.ts';
import type { Schedules } from './schedules.ts';

export interface CommandScene {
  readonly chat: KnownChat;
  /** What stands behind the name of the command. */
  readonly words: string;
  /** Who says it, for the record. */
  readonly by: string;
  readonly agents: UserAgents;
  readonly sandboxes: UserSandboxes;
  readonly bus: Bus;
  readonly chats: ChatTable;
  readonly asks: Asks;
  readonly pairings: Pairings;
  readonly schedules: Schedules;
  /** What was spent today and what may be, as text. */
  readonly spending: string;
  /** In chats that chose nothing. */
  readonly during: DuringTurn;
  readonly signal: AbortSignal;
}

/** The answer, and a file of the workspace that goes with it. */
export interface CommandAnswer {
  readonly text: string;
  readonly file?: string;
}

interface Command {
  readonly usage: string;
  readonly help: string;
  /** `control` does not wait for a run of the chat; `chat` has its place among the messages. */
  readonly lane: 'control' | 'chat';
  run(scene: CommandScene): Promise<CommandAnswer>;
}

const commands: Readonly<Record<string, Command>> = {
  help: {
    usage: '/help',
    help: 'show this',
    lane: 'control',
    run: async () => ({ text: helpText() }),
  },
  start: { usage: '', help: '', lane: 'control', run: async () => ({ text: helpText() }) },
  status: {
    usage: '/status',
    help: 'what runs, what waits and what was spent',
    lane: 'control',
    run: status,
  },
  stop: {
    usage: '/stop [all]',
    help: 'stop the run; all: forget the messages that wait, too',
    lane: 'control',
    run: stop,
  },
  approve: {
    usage: '/approve CODE [session|always]',
    help: 'let the agent do what it asked for: once, in this session, or from now on',
    lane: 'control',
    run: (scene) => scene.asks.answer(scene, 'allow-once'),
  },
  deny: {
    usage: '/deny CODE',
    help: 'keep the agent from it',
    lane: 'control',
    run: (scene) => scene.asks.answer(scene, 'deny'),
  },
  pair: {
    usage: '/pair [CODE [USER]]',
    help: 'let somebody in who got a code, for whoever runs the gateway; alone: show who waits',
    lane: 'control',
    run: (scene) => scene.pairings.answer(scene),
  },
  steer: {
    usage: '/steer [on|off]',
    help: 'on: what you write during a run is heard by it; off: it waits its turn',
    lane: 'control',
    run: steer,
  },
  new: { usage: '/new', help: 'begin a new conversation; the files stay', lane: 'chat', run: beginAnew },
  undo: { usage: '/undo', help: 'take back the last change of the files', lane: 'chat', run: undo },
  model: {
    usage: '/model [SERVICE/MODEL]',
    help: 'show or change the model; a change begins a new conversation',
    lane: 'chat',
    run: model,
  },
  schedule: {
    usage: '/schedule WHEN: TEXT',
    help: 'say TEXT at set times: `0 9 * * 1-5`, `every 2h`, `in 20m`, `2027-01-31T09:00`; alone: show them',
    lane: 'chat',
    run: schedule,
  },
  unschedule: { usage: '/unschedule ID', help: 'end a schedule', lane: 'chat', run: unschedule },
  file: { usage: '/file PATH', help: 'send a file of the workspace', lane: 'chat', run: file },
};

export interface GivenCommand {
  readonly name: string;
  readonly words: string;
}

/** Undefined for text that is no command of ours. On Telegram a command may carry the bot's name. */
export function commandIn(text: string): GivenCommand | undefined {
  const [, name = '', words = ''] = /^\/([a-z]+)(?:@\w+)?(?:\s+([\s\S]*))?$/i.exec(text.trim()) ?? [];
  const known = name.toLowerCase();
  return Object.hasOwn(commands, known) ? { name: known, words: words.trim() } : undefined;
}

export function isControl(given: GivenCommand | undefined): boolean {
  return given !== undefined && commands[given.name]?.lane === 'control';
}

/** What a caller of the API needs besides, to say it. */
export function scopeOf(text: string): 'approvals' | 'admin' | undefined {
  const name = commandIn(text)?.name;
  if (name === 'pair') return 'admin';
  return name === 'approve' || name === 'deny' ? 'approvals' : undefined;
}

export async function runCommand(
  { name, words }: GivenCommand,
  scene: Omit<CommandScene, 'words'>,
): Promise<CommandAnswer> {
  const command = commands[name];
  return command === undefined ? { text: helpText() } : command.run({ ...scene, words });
}

function helpText(): string {
  const lines = Object.values(commands)
    .filter(({ usage }) => usage !== '')
    .map(({ usage, help }) => `\`${usage}\` ${help}`);
  return `Write what you want done; the agent of this chat works in its own sandbox.\n\n${lines.join('\n')}`;
}

async function status({ chat, agents, bus, sandboxes, spending, during, signal }: CommandScene) {
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
    `Messages during a run: ${(chat.during ?? during) === 'steer' ? 'heard by it (/steer off)' : 'wait (/steer on)'}`,
    `Model: ${chat.model ?? conversation?.model ?? 'the usual one'}`,
    `Sandbox: ${sandbox === undefined ? 'none yet' : `${sandbox.state}, isolation ${sandbox.grade ?? 'not known'}`}`,
    `All chats: ${running} running, ${waiting} waiting`,
    spending,
  ];
  return { text: lines.join('\n') };
}

async function stop({ chat, agents, bus, words, signal }: CommandScene) {
  const dropped = words.toLowerCase() === 'all' ? await bus.drop(chat.lane) : 0;
  const stopped = await agents.interrupt(chat.name, { signal }).catch((error) => {
    if (isGeodeError(error, 'agent_not_found')) return false;
    throw error;
  });
  const forgotten = dropped === 0 ? '' : ` ${dropped} waiting messages are forgotten.`;
  return { text: `${stopped ? 'Stopped.' : 'Nothing was running.'}${forgotten}` };
}

async function beginAnew({ chat, agents, signal }: CommandScene) {
  await agents.stop(chat.name, { signal });
  return { text: 'A new conversation begins. The files are as they were; the old one stays on record.' };
}

async function steer({ chat, chats, words, during }: CommandScene) {
  const word = words.toLowerCase();
  if (word === 'on' || word === 'off') chats.setDuring(chat.lane, word === 'on' ? 'steer' : 'follow');
  else if (word !== '') return { text: 'Say `/steer on` or `/steer off`.' };
  const now = word === 'on' ? 'steer' : word === 'off' ? 'follow' : (chat.during ?? during);
  return {
    text:
      now === 'steer'
        ? 'What you write during a run is heard by it.'
        : 'What you write during a run waits for its end.',
  };
}

async function undo({ chat, sandboxes, signal }: CommandScene) {
  try {
    const { snapshots } = await sandboxes.start(chat.name, { signal });
    if (snapshots === undefined) return { text: 'Files cannot be taken back where they are kept.' };
    await snapshots.undo({ signal });
    return { text: 'The last change of the files is taken back.' };
  } catch (error) {
    if (isGeodeError(error, 'sandbox_not_found') || isGeodeError(error, 'snapshot_not_found'))
      return { text: 'There is nothing to take back.' };
    throw error;
  }
}

async function model({ chat, chats, agents, words, signal }: CommandScene) {
  if (words === '') return { text: `The model of this chat: ${chat.model ?? 'the usual one'}.` };
  if (!/^[\w.:@-]+(\/[\w.:@/-]+)?$/.test(words))
    return { text: 'That is no name of a model: it is SERVICE/MODEL.' };
  await agents.stop(chat.name, { signal });
  chats.setModel(chat.lane, words === 'default' ? null : words);
  return { text: `From now on: ${words}. A new conversation begins.` };
}

async function file({ words }: CommandScene) {
  if (words === '') return { text: 'Say which: `/file PATH`.' };
  return { text: words, file: words };
}

async function schedule({ chat, words, schedules, by }: CommandScene) {
  if (words === '') return { text: listText(schedules.list(chat)) };
  const [, when, text] = /^([\s\S]+?):\s([\s\S]+)$/.exec(words) ?? [];
  if (when === undefined || text === undefined || commandIn(text) !== undefined)
    return { text: 'Say when and what: `/schedule 0 9 * * 1-5: sum up the news`.' };
  const made = schedules.add(chat, { when: when.trim(), text: text.trim() }, by);
  return { text: `Schedule \`${made.id}\`: next on ${timeText(made.next)}.` };
}

async function unschedule({ chat, words, schedules, by }: CommandScene) {
  const id = words.toLowerCase();
  const isOwn = schedules.list(chat).some((each) => each.id === id);
  return {
    text:
      isOwn && schedules.remove(chat.user, id, by)
        ? `Schedule ${id} is ended.`
        : 'There is no such schedule.',
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
