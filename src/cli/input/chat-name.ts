/** How a person names the sandbox of a chat: `alice/demo`, `demo`, or its id from `geode sandbox ls`. */
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import { localUser } from '../../base/identity.ts';
import { nearest } from '../../base/nearest.ts';
import type { SandboxStatus } from '../../seams/persistent.ts';
import { type CliContext, type CliOption, text } from '../command.ts';
import { printableLine } from '../render/printable.ts';

export interface ChatName {
  readonly user: string;
  readonly chat: string;
}

export const chatOptions = {
  user: {
    type: 'string',
    short: 'u',
    value: 'USER',
    description: 'owner of the sandbox (default: local); a "/" in the name is then part of the chat',
  },
} as const satisfies Record<string, CliOption>;

/** The form of an id; a chat with such a name comes first. */
const idPattern = /^(room-\d+-\d+-[0-9a-f]{12}|[0-9a-f]{20})$/;

/** The first "/" divides the user from the chat. */
export function chatNamed(word: string, { values }: Pick<CliContext, 'values'>): ChatName {
  const user = text(values, 'user');
  if (user !== undefined) return { user, chat: word };
  const at = word.indexOf('/');
  return at === -1 ? { user: localUser, chat: word } : { user: word.slice(0, at), chat: word.slice(at + 1) };
}

/** The same, where the word may be an id. */
export async function findChat(
  word: string,
  context: Pick<CliContext, 'values'>,
  all: () => Promise<readonly SandboxStatus[]>,
): Promise<ChatName> {
  const named = chatNamed(word, context);
  if (!idPattern.test(word)) return named;
  return among(await all(), word, named);
}

/** Finds the name or id among the known sandboxes. */
export function among(known: readonly SandboxStatus[], word: string, named: ChatName): ChatName {
  const isNamed = known.some(({ user, chat }) => user === named.user && chat === named.chat);
  return (isNamed ? undefined : known.find(({ id }) => id === word)) ?? named;
}

/** The name in the form in which a user types it. */
export function shownName({ user, chat }: ChatName): string {
  return `${printableLine(user)}/${printableLine(chat)}`;
}

/** With the nearest name among the sandboxes of the same user. */
export function noSuchSandbox(name: ChatName, known: readonly ChatName[]): GeodeError {
  const own = known.filter(({ user }) => user === name.user).map(({ chat }) => chat);
  const near = nearest(name.chat, own);
  const meant = near === undefined ? '' : ` Did you mean ${shownName({ ...name, chat: near })}?`;
  return new GeodeError('sandbox_not_found', `There is no sandbox ${shownName(name)}.${meant}`, {
    hint: `List sandboxes: geode sandbox ls. Create it: geode sandbox create ${shownName(name)}`,
  });
}

/** The same, for a client that can list them. */
export async function orNotFound<T>(
  name: ChatName,
  list: () => Promise<readonly ChatName[]>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isGeodeError(error, 'sandbox_not_found')
      ? noSuchSandbox(name, await list().catch(() => []))
      : error;
  }
}
