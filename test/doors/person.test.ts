import { describe, expect, it } from 'vitest';
import type { Caller } from '../../src/api/environment.ts';
import { forPerson } from '../../src/api/guards/person.ts';
import { scopes } from '../../src/contract/keys.ts';

const program: Caller = { user: 'webui', keyId: 'a', scopes, actsFor: 'self' };

describe('a person behind a program', () => {
  it('DR-5: gets the rights of the key, without operator rights and rights of the program itself', () => {
    const person = forPerson({ ...program, actsFor: 'anyone' }, 'ann');
    expect(person).toMatchObject({ user: 'webui+ann', actsFor: 'self' });
    expect(person.scopes).toEqual(scopes.filter((scope) => scope !== 'admin' && scope !== 'users'));
    expect(() => forPerson({ ...program, scopes: ['agents', 'admin'] }, 'ann')).toThrow(/scope users/);
    expect(forPerson(program, undefined)).toBe(program);
  });

  it('DR-5: cannot act as another person or as a person of another program', () => {
    const programs = ['a', 'a+b', 'a.b', 'local'];
    const people = ['b', 'b+c', 'c', 'B', 'é', '', ' b', '_x', 'x'.repeat(65), '../b', 'b\n'];
    const users = programs.flatMap((user) =>
      people.map((name) => forPerson({ ...program, user }, name).user),
    );
    expect(new Set(users).size).toBe(users.length);
    for (const user of users) expect(user).toMatch(/^(a|a\+b|a\.b|local)\+[a-z0-9_-]+$/);
  });
});
