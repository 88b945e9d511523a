import { GeodeError } from './errors.ts';

/**
 * The owner of sandboxes, memory, keys and budgets. One name means the same person everywhere: a key of `alice` opens
 * the sandboxes, the memory and the events of `alice`, and nothing of other users.
 */
export type User = string;

/**
 * The user of this machine, for calls without a user: in the CLI, on the host's socket, for the first key and for a
 * host without auth.
 */
export const localUser: User = 'local';

/**
 * The one rule for user names. Every valid name is safe in a URL, a header, a log line and a terminal, and no two
 * valid names look alike. A name on a chat platform is not a user until it is paired with one.
 */
export const userPattern = /^[a-z0-9][a-z0-9._@:+-]{0,127}$/;

/** One text for a user and a chat, encoded so that no two pairs get the same one. */
export function chatKey(user: User, chat: string): string {
  return JSON.stringify([user, chat]);
}

/**
 * Throws `invalid_input` for an invalid name. Checked wherever a user starts to exist: creating a key or a sandbox,
 * storing an entry. Objects from before the rule can still be listed, read and removed by their old names.
 */
export function checkUser(name: string): User {
  if (typeof name === 'string' && userPattern.test(name)) return name;
  throw new GeodeError(
    'invalid_input',
    `The user name ${JSON.stringify(String(name).slice(0, 200))} is not valid: use 1 to 128 lower-case letters, digits, ".", "_", "@", ":", "+" and "-", starting with a letter or a digit.`,
  );
}
