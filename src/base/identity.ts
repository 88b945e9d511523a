import { GeodeError } from './errors.ts';

/**
 * The owner of sandboxes, memory, keys and money. One name means the same person in every part: a key of `alice`
 * opens the sandboxes, the memory and the events of `alice`, and nothing of anybody else.
 */
export type User = string;

/** The user of this machine when no user is named: in the CLI, on the host's socket, for the first key and for a host without auth. */
export const localUser: User = 'local';

/**
 * The one rule for names of users. Every such name is safe in a URL, a header, a log line and a terminal, and no two
 * of them look alike. A name on a chat platform is not a user until it is paired with one.
 */
export const userPattern = /^[a-z0-9][a-z0-9._@:+-]{0,127}$/;

/**
 * `invalid_input` for anything that does not follow the rule. Checked wherever a user begins to exist: a key is made,
 * a sandbox is made, an entry is stored. Things made before the rule can still be listed, read and removed by their
 * old names.
 */
export function checkUser(name: string): User {
  if (typeof name === 'string' && userPattern.test(name)) return name;
  throw new GeodeError(
    'invalid_input',
    `The user name ${JSON.stringify(String(name).slice(0, 200))} is not valid: use 1 to 128 lower-case letters, digits, ".", "_", "@", ":", "+" and "-", and begin with a letter or a digit.`,
  );
}
