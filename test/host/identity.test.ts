import { describe, expect, it } from 'vitest';
import { checkUser } from '../../src/base/identity.ts';
import { sandboxWorld } from '../sandboxes/world.ts';

describe('the identity of the local user', () => {
  it('a name of a user is the same everywhere, and hostile ones are refused', () => {
    for (const name of ['local', 'ann', 'telegram:42', 'ann@example.com', '0', 'x'.repeat(128)])
      expect(checkUser(name)).toBe(name);
    for (const name of ['', 'Ann', 'a b', 'a/b', '.', '-rf', 'é', 'a\n', '\u202eann', 'x'.repeat(129)])
      expect(() => checkUser(name)).toThrow(expect.objectContaining({ code: 'invalid_input' }));
  });

  it('moves running sandboxes of the login name to the local user, once', async () => {
    await using world = await sandboxWorld('native');
    const before = await world.host();
    const sandbox = await before.of('root').getOrCreate('demo', { labels: { team: 'a' } });
    await sandbox.files.write('file', 'kept');
    await sandbox.spawn({ argv: ['sleep', '300'], timeoutMs: null });
    await before.of('root').getOrCreate('both');
    await before.of('local').getOrCreate('both');
    await before.of('bob').getOrCreate('demo');
    await before[Symbol.asyncDispose]();

    const next = await world.host({ formerUser: 'root' });
    const names = (await next.all()).map(({ user, chat }) => `${user}/${chat}`).sort();
    expect(names).toEqual(['bob/demo', 'local/both', 'local/demo', 'root/both']);
    expect(world.warnings).toEqual([expect.stringContaining('root/both')]);
    const moved = await next.of('local').start('demo');
    expect(moved.id).toBe(sandbox.id);
    expect(await moved.files.readText('file')).toBe('kept');
    expect((await moved.processes()).processes).toMatchObject([{ argv: ['sleep', '300'], state: 'running' }]);
    expect(await next.of('local').inspect('demo')).toMatchObject({ labels: { team: 'a' } });
    // From now on the login is a user like any other.
    await next.of('root').getOrCreate('later');
    await next[Symbol.asyncDispose]();

    const third = await world.host({ formerUser: 'root' });
    expect((await third.of('root').list()).map(({ chat }) => chat)).toEqual(['both', 'later']);
    for (const { user, chat } of await third.all()) await third.of(user).remove(chat);
  });

  it('moves the sandboxes also when the ledger is lost', async () => {
    await using world = await sandboxWorld('native');
    const before = await world.host();
    const { id } = await before.of('root').getOrCreate('demo');
    await before[Symbol.asyncDispose]();
    await world.loseLedger();
    const next = await world.host({ formerUser: 'root' });
    expect(await next.all()).toMatchObject([{ id, user: 'local', chat: 'demo' }]);
    await next.of('local').remove('demo');
  });
});
