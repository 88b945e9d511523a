import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Scope } from '../../src/contract/keys.ts';
import { callerWith } from '../api/server-fixture.ts';
import { openTerminalContract } from '../contracts/open-terminal.ts';
import { openTerminal, startOpenTerminal } from '../fixtures/open-terminal-server.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';

const { bubblewrap } = inject('engines');
const unavailable = bubblewrap.available ? undefined : bubblewrap.reason;
const skipped = unavailable === undefined ? '' : ` (skipped: ${unavailable})`;

openTerminalContract({
  name: 'Open Terminal 0.14.5',
  unavailable: openTerminal.available ? undefined : openTerminal.reason,
  isOurs: false,
  start: startOpenTerminal,
});

openTerminalContract({
  name: 'Geode as a terminal server',
  unavailable,
  isOurs: true,
  async start() {
    const world = hostWorld({ GEODE_RUNTIME_NAME: 'bubblewrap', GEODE_GATEWAY_FAILURE_RATE: '1000' });
    const { host, gateway } = await world.open();
    return {
      url: `${gateway.url}/open-terminal`,
      key: host.keys.create({ user: 'webui', scopes: ['sandboxes:write', 'users'] }).secret,
      home: '/workspace',
      [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
    };
  },
});

describe.skipIf(unavailable !== undefined)(
  `sandboxes of a terminal server${skipped}`,
  { timeout: 120_000 },
  () => {
    let world: HostWorld;
    let opened: OpenedHost;
    beforeAll(async () => {
      world = hostWorld({ GEODE_RUNTIME_NAME: 'bubblewrap', GEODE_GATEWAY_RATE: '2' });
      opened = await world.open();
    }, 120_000);
    afterAll(() => world?.[Symbol.asyncDispose](), 120_000);
    const caller = (user: string, scopes: readonly Scope[]) =>
      callerWith(`${opened.gateway.url}/open-terminal`, opened.host.keys.create({ user, scopes }).secret);
    const as = (person: string, more: Readonly<Record<string, string>> = {}) => ({
      headers: { 'x-user-id': person, ...more },
    });

    it('DR-5: a key acts for people only with the scope users, and never as an operator', async () => {
      const plain = caller('plain', ['sandboxes:write']);
      expect(await plain('/files/cwd', as('ann'))).toMatchObject({
        status: 403,
        body: { detail: expect.stringContaining('scope users') },
      });
      expect((await plain('/files/cwd')).status).toBe(200);
      const reader = caller('plain', ['sandboxes:read', 'users']);
      expect((await reader('/files/cwd', as('ann'))).status).toBe(403);
    });

    it('DR-2: each person has a sandbox, and each chat of the orchestrator form', async () => {
      const call = caller('webui', ['sandboxes:write', 'users']);
      const write = (person: string, more = {}) =>
        call('/files/write', { json: { path: 'secret.txt', content: person }, ...as(person, more) });
      await write('ann');
      await write('ann', { 'x-terminal-context-id': 'chat:c1', 'x-session-id': 'c1' });
      expect((await call('/files/read?path=secret.txt', as('bob'))).status).toBe(404);
      const read = await call('/files/read?path=secret.txt', as('ann'));
      expect(read.body).toMatchObject({ content: 'ann' });
      const all = await opened.host.sandboxes.all();
      expect(all.map(({ user, chat }) => `${user} ${chat}`).toSorted()).toEqual([
        'webui+ann c1',
        'webui+ann open-terminal',
      ]);
    });

    it('DR-2: polling starts and wakes nothing', async () => {
      const call = caller('poller', ['sandboxes:write', 'users']);
      const polled = [
        '/execute',
        '/files/cwd',
        '/system',
        '/openapi.json',
        '/api/config',
        '/ports',
        '/api/terminals',
      ];
      for (const path of [...polled, '/skills']) expect((await call(path, as('ann'))).status, path).toBe(200);
      expect((await call('/files/read?path=AGENTS.md', as('ann'))).status).toBe(404);
      const own = opened.host.sandboxes.of('poller+ann');
      expect(await own.list()).toEqual([]);
      await call('/files/mkdir', { json: { path: 'x' }, ...as('ann') });
      await own.stop('open-terminal');
      for (const path of polled) expect((await call(path, as('ann'))).status, path).toBe(200);
      expect((await own.inspect('open-terminal')).state).toBe('stopped');
      await own.start('open-terminal');
      const { activeAt } = await own.inspect('open-terminal');
      expect((await call('/execute', as('ann'))).body).toEqual([]);
      expect((await own.inspect('open-terminal')).activeAt).toBe(activeAt);
    });

    it('DR-5: limits of requests count the people of a program apart', async () => {
      const call = caller('busy', ['sandboxes:write', 'users']);
      const statuses = new Set<number>();
      for (let count = 0; count < 25; count += 1) statuses.add((await call('/files/cwd', as('ann'))).status);
      expect(statuses).toEqual(new Set([200, 429]));
      expect((await call('/files/cwd', as('bob'))).status).toBe(200);
    });
  },
);
