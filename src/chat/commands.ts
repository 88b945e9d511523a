/** Commands that a person gives to the gateway itself, in any chat. */
import type { UserAgents } from '../seams/agent.ts';
import type { Bus } from '../seams/bus.ts';
import type { DuringTurn } from '../seams/chat.ts';
import type { UserSandboxes } from '../seams/persistent.ts';
import type { ApprovalPrompts } from './approval-prompts.ts';
import type { MessageBody } from './bodies.ts';
import type { ChatTable, KnownChat } from './chat-table.ts';
import {
  file,
  model,
  newConversation,
  schedule,
  share,
  status,
  steer,
  stop,
  undo,
  unschedule,
} from './command-actions.ts';
import type { Pairings } from './pairings.ts';
import type { Schedules } from './schedules.ts';
import { sendUndeliveredAgain } from './undelivered.ts';

export interface CommandScene {
  readonly chat: KnownChat;
  /** The text after the command name. */
  readonly words: string;
  /** The sender, for the audit. */
  readonly by: string;
  readonly agents: UserAgents;
  readonly sandboxes: UserSandboxes;
  readonly bus: Bus;
  readonly chats: ChatTable;
  readonly approvalPrompts: ApprovalPrompts;
  readonly pairings: Pairings;
  readonly schedules: Schedules;
  /** Today's spending and the budget, as text. */
  readonly spending: string;
  /** Returns what is wrong with a model name; undefined for a valid one. */
  readonly refusedModel: (name: string) => string | undefined;
  /** In chats without a choice of their own. */
  readonly during: DuringTurn;
  readonly signal: AbortSignal;
}

/** The answer, and a workspace file to send with it. */
export interface CommandAnswer {
  readonly text: string;
  readonly file?: string;
}

interface Command {
  readonly usage: string;
  readonly help: string;
  /** `control` does not wait for a run of the chat; `chat` waits in line like a message. */
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
    help: 'show the running turn, the queue and the cost',
    lane: 'control',
    run: status,
  },
  stop: {
    usage: '/stop [all]',
    help: 'stop the run; all: drop the waiting messages too',
    lane: 'control',
    run: stop,
  },
  approve: {
    usage: '/approve CODE [session|always]',
    help: "allow the agent's request: once, for this session, or always",
    lane: 'control',
    run: (scene) => scene.approvalPrompts.answer(scene, 'allow-once'),
  },
  deny: {
    usage: '/deny CODE',
    help: "deny the agent's request",
    lane: 'control',
    run: (scene) => scene.approvalPrompts.answer(scene, 'deny'),
  },
  pair: {
    usage: '/pair [CODE [USER]]',
    help: 'pair a person by code (only the owner); without a code: list who is waiting',
    lane: 'control',
    run: (scene) => scene.pairings.answer(scene),
  },
  share: {
    usage: '/share [on|off]',
    help: 'in a group, on: everybody paired with this gateway may speak to the agent of this chat; off: only you',
    lane: 'control',
    run: share,
  },
  steer: {
    usage: '/steer [on|off]',
    help: 'on: add messages during a run to it; off: let them wait',
    lane: 'control',
    run: steer,
  },
  again: {
    usage: '/again [ID]',
    help: 'send an answer again that may be missing',
    lane: 'control',
    run: sendUndeliveredAgain,
  },
  new: {
    usage: '/new [empty]',
    help: 'start a new conversation; the files stay. empty: remove the sandbox and its files',
    lane: 'chat',
    run: newConversation,
  },
  undo: { usage: '/undo', help: 'undo the last change of the files', lane: 'chat', run: undo },
  model: {
    usage: '/model [SERVICE/MODEL]',
    help: 'show or change the model; a change starts a new conversation',
    lane: 'chat',
    run: model,
  },
  schedule: {
    usage: '/schedule WHEN: TEXT',
    help: 'send TEXT at set times: `tomorrow 9am`, `every monday at 9`, `every 2h`, `in 20m`, `0 9 * * 1-5`; without arguments: list the schedules',
    lane: 'chat',
    run: schedule,
  },
  unschedule: { usage: '/unschedule ID', help: 'remove a schedule', lane: 'chat', run: unschedule },
  file: { usage: '/file PATH', help: 'send a file from the workspace', lane: 'chat', run: file },
};

export interface GivenCommand {
  readonly name: string;
  readonly words: string;
}

/** Undefined for text that is not a command. On Telegram a command may carry the bot's name. */
export function commandIn(text: string): GivenCommand | undefined {
  const [, name = '', words = ''] = /^\/([a-z]+)(?:@\w+)?(?:\s+([\s\S]*))?$/i.exec(text.trim()) ?? [];
  const known = name.toLowerCase();
  return Object.hasOwn(commands, known) ? { name: known, words: words.trim() } : undefined;
}

/** Forwarded text is never a command. */
export function chatCommandOf({ text, isForwarded }: Pick<MessageBody, 'text' | 'isForwarded'>) {
  return isForwarded ? undefined : commandIn(text);
}

/** Commands allowed to every person in the chat. */
export function isHarmless({ name }: GivenCommand): boolean {
  return ['help', 'start', 'status', 'again'].includes(name);
}

export function isControl(given: GivenCommand | undefined): boolean {
  return given !== undefined && commands[given.name]?.lane === 'control';
}

/** The extra scope that an API caller needs for a command. */
export function scopeOf(text: string): 'approvals' | 'admin' | undefined {
  const name = commandIn(text)?.name;
  if (name === 'pair') return 'admin';
  return name === 'approve' || name === 'deny' ? 'approvals' : undefined;
}

export async function runChatCommand(
  { name, words }: GivenCommand,
  scene: Omit<CommandScene, 'words'>,
): Promise<CommandAnswer> {
  const command = commands[name];
  return command === undefined ? { text: helpText() } : command.run({ ...scene, words });
}

/** For platforms that show the commands to people who type a slash. */
export function commandMenu(): readonly MenuCommand[] {
  return Object.entries(commands)
    .filter(([, { usage }]) => usage !== '')
    .map(([command, { usage, help }]) => ({ command, usage, description: help }));
}

interface MenuCommand {
  readonly command: string;
  /** With its arguments. */
  readonly usage: string;
  readonly description: string;
}

function helpText(): string {
  const lines = Object.values(commands)
    .filter(({ usage }) => usage !== '')
    .map(({ usage, help }) => `\`${usage}\` ${help}`);
  return `Write your task; the agent of this chat works in its own sandbox.\n\n${lines.join('\n')}`;
}
