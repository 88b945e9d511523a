/**
 * People behind a program. A program such as Open WebUI has one key and many people, whom it names in a header. Each
 * person is a user of Geode below the user of the key, as `webui+7d0c…`, so a key reaches only the people of its own
 * program, and no person reaches another's sandboxes, memory or agents.
 */
import { createHash } from 'node:crypto';
import { GeodeError } from '../../base/errors.ts';
import { checkUser, type User } from '../../base/identity.ts';
import type { Scope } from '../../contract/keys.ts';
import type { Caller } from '../environment.ts';

/** Rights of the program itself, which no person gets. */
const ofProgram: readonly Scope[] = ['admin', 'users'];

export function forPerson(caller: Caller, person: string | undefined): Caller {
  if (person === undefined) return caller;
  if (!caller.scopes.includes('users'))
    throw new GeodeError('forbidden', 'This key may not act for people: it does not have the scope users', {
      hint: 'Create a key with the scope users for a program that names its people, such as Open WebUI.',
    });
  const scopes = caller.scopes.filter((scope) => !ofProgram.includes(scope));
  return { ...caller, user: userOf(caller.user, person), scopes, actsFor: 'self' };
}

/** Names without "+" are used as they are. A hash starts with "_", so it never equals one of them. */
function userOf(program: User, person: string): User {
  const isPlain = /^[a-z0-9][a-z0-9-]{0,63}$/.test(person);
  const name = isPlain ? person : `_${createHash('sha256').update(person).digest('hex').slice(0, 32)}`;
  return checkUser(`${program}+${name}`);
}
