import { existsSync } from 'node:fs';
import { chmod, chown, lstat } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { clientOfHost } from '../../src/client/host-client.ts';
import { everyone } from '../../src/seams/events.ts';
import { eventually } from '../contracts/harness.ts';
import { hostWorld, type OpenedHost } from './world.ts';

const entry = (content: string) => ({ content, category: 'core', source: 'test' });

async function atSocket({ socket }: OpenedHost): Promise<GeodeClient> {
  const client = await clientOfHost(socket.path);
  if (client === undefined) throw new Error('no host');
  return client;
}

/** With a key of that user, on the port. */
function atPort({ host, gateway }: OpenedHost, user: string): GeodeClient {
  const scopes = ['memory:read', 'memory:write', 'sandboxes:read', 'sandboxes:write'] as const;
  return createClient({ url: gateway.url, key: host.keys.create({ user, scopes }).secret });
}

describe('one host', () => {
  it('API-3: serves the same things on its socket, where the caller is the local user, and on the port with keys', async () => {
    await using world = hostWorld();
    const opened = await world.open();
    const mine = await atSocket(opened);
    const [local, ann] = [atPort(opened, 'local'), atPort(opened, 'ann')];
    await mine.ingest({ ...entry('Deploys run on Friday'), id: 'deploy' });
    expect((await local.search('deploys')).results).toMatchObject([{ id: 'deploy' }]);
    expect((await ann.search('deploys')).results).toEqual([]);
    await opened.host.sandboxes.of('ann').getOrCreate('demo');
    const ids = async (client: GeodeClient) => (await client.sandboxes.list()).map(({ chat }) => chat);
    expect([await ids(ann), await ids(local), await ids(mine)]).toEqual([['demo'], [], []]);
    expect(await ids(mine.as('ann'))).toEqual(['demo']);
    await expect(ids(local.as('ann'))).rejects.toMatchObject({ code: 'forbidden' });
    await expect(createClient({ url: opened.gateway.url }).search('deploys')).rejects.toMatchObject({
      code: 'unauthorized',
    });
  });

  it('the socket and its folder are private, and a client refuses a socket that others can open', async () => {
    await using world = hostWorld();
    const opened = await world.open();
    const { path } = opened.socket;
    expect((await lstat(path)).mode & 0o777).toBe(0o600);
    const folder = await lstat(dirname(path));
    expect([folder.mode & 0o777, folder.uid]).toEqual([0o700, process.getuid?.()]);
    await chmod(path, 0o666);
    await expect(clientOfHost(path)).rejects.toMatchObject({ code: 'invalid_config' });
    await chmod(path, 0o600);
    expect(await (await atSocket(opened)).list()).toMatchObject({ total: 0 });
  });

  it.skipIf(process.getuid?.() !== 0)(
    'a second user of the machine cannot connect (only root can become one)',
    async () => {
      await using world = hostWorld();
      const { socket } = await world.open();
      expect(await refusalFor(61_001, socket.path)).toBe('EACCES');
      expect(await refusalFor(0, socket.path)).toBeUndefined();
      await chown(socket.path, 61_001, 61_001);
      await expect(clientOfHost(socket.path)).rejects.toMatchObject({ code: 'invalid_config' });
    },
  );

  it('opens memory at the first request, and sends each user only their own events', async () => {
    await using world = hostWorld();
    const opened = await world.open();
    const { events, memory } = opened.host;
    const mine = await atSocket(opened);
    await mine.ingest({ ...entry('one'), id: 'a' });
    await mine.as('bob').ingest({ ...entry('two'), id: 'b' });
    await mine.remove('a');
    await memory.in('bob').storeMany(Array.from({ length: 60 }, (_, index) => entry(`many ${index}`)));
    const heard = async (whose: string | typeof everyone) => {
      const types: string[] = [];
      for await (const { type } of events.read(whose, { after: 0, follow: false })) types.push(type);
      return types;
    };
    expect(await heard('local')).toEqual(['entry-stored', 'entry-removed']);
    expect(await heard('bob')).toEqual(['entry-stored', 'entries-stored']);
    expect(await heard(everyone)).toHaveLength(4);
    const { latest } = events;
    await opened[Symbol.asyncDispose]();
    const next = await world.open();
    expect(next.host.events.latest).toBe(latest);
  });

  it('API-3: only their user receives events through the API, and they continue after a restart of the host', async () => {
    await using world = hostWorld();
    const opened = await world.open();
    const mine = await atSocket(opened);
    const reader = opened.host.keys.create({ user: 'local', scopes: ['sandboxes:read'] }).secret;
    await mine.as('ann').ingest({ ...entry('not heard'), id: 'x' });
    await mine.ingest({ ...entry('one'), id: 'a' });
    const stop = new AbortController();
    const heard: string[] = [];
    const hearing = (async () => {
      for await (const event of mine.events({ after: 0, signal: stop.signal, patienceMs: 60_000 }))
        heard.push('key' in event ? event.key : event.type);
    })().catch((error: unknown) => error);
    await eventually(async () => heard.length === 1, 'the first event', 60_000);
    await opened[Symbol.asyncDispose]();
    const next = await world.open();
    await (await atSocket(next)).ingest({ ...entry('two'), id: 'b' });
    await next.host.sandboxes.of('local').getOrCreate('demo');
    await eventually(async () => heard.length === 3, 'what came later', 60_000);
    stop.abort();
    await hearing;
    expect(heard).toEqual(['a', 'b', 'sandbox-start']);
    const again = createClient({ url: next.gateway.url, key: reader });
    expect((await again.events({ after: 0 }).next()).value).toMatchObject({
      type: 'sandbox-start',
      made: true,
    });
    await expect(again.events({ after: 0, users: 'all' }).next()).rejects.toMatchObject({
      code: 'forbidden',
    });
  });

  it('does not open memory without a memory request', async () => {
    await using world = hostWorld();
    const file = join(world.machine.stateDir, 'memory.db');
    await using host = await world.openParts();
    expect(existsSync(file)).toBe(false);
    await host.memory.in('ann').count();
    expect(existsSync(file)).toBe(true);
    await host[Symbol.asyncDispose]();
  });

  it('sends events of runs with their user, language and end', async () => {
    await using world = hostWorld();
    const { host } = await world.open();
    await host.runs.run('exit 3', 'shell', { user: 'ann' });
    const told: unknown[] = [];
    for await (const event of host.events.read('ann', { after: 0, follow: false })) told.push(event);
    expect(told).toMatchObject([
      { type: 'run-start', language: 'shell', user: 'ann' },
      { type: 'run-end', language: 'shell', exitCode: 3 },
    ]);
  });

  it('rate limits of the config apply to keys and scopes, not to the socket', async () => {
    await using world = hostWorld({
      // So low that no request is allowed again while the test runs.
      GEODE_GATEWAY_RATE: '0.5',
      GEODE_GATEWAY_SCOPE_RATES: '{"memory:write": 0.001}',
    });
    const opened = await world.open();
    const mine = await atSocket(opened);
    for (let index = 0; index < 30; index += 1) await mine.list();
    const ann = atPort(opened, 'ann');
    await ann.ingest(entry('one'));
    await expect(ann.ingest(entry('two'))).rejects.toMatchObject({
      code: 'rate_limited',
      message: expect.stringContaining('memory:write'),
    });
    await ann.list();
    const asked = Array.from({ length: 40 }, () => ann.list().catch((error: unknown) => error));
    expect(await Promise.all(asked)).toContainEqual(expect.objectContaining({ code: 'rate_limited' }));
    await mine.list();
  });
});

/** The answer to a request as another user. */
async function refusalFor(uid: number, path: string): Promise<string | undefined> {
  process.setegid?.(uid);
  process.seteuid?.(uid);
  // The call itself is made at once, its outcome told later.
  const socket = connect(path);
  process.seteuid?.(0);
  process.setegid?.(0);
  return new Promise((resolve) => {
    socket.once('connect', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
}
