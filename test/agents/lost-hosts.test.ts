import { afterEach, describe, expect, inject, it } from 'vitest';
import { lostHosts, mostLostHosts, pauseBefore } from '../../src/agents/lost-hosts.ts';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { eventually } from '../contracts/harness.ts';
import { type ModelServer, type Reply, startModelServer } from '../fixtures/model-server/model-server.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';
import { builtinScene } from './scenes.ts';
import { all } from './stage.ts';

const scene = builtinScene(inject('engines'), 'bubblewrap');
const skipped = scene.unavailable === undefined ? '' : ` (skipped: ${scene.unavailable})`;
const patience = { timeout: 180_000 };

it('counts the hosts since the last step of a turn', () => {
  const events = (...types: string[]) => types.map((type) => ({ type }) as { type: 'text' });
  expect(lostHosts(events('turn-start'))).toBe(1);
  expect(lostHosts(events('turn-start', 'turn-resume', 'text', 'turn-resume'))).toBe(3);
  expect(lostHosts(events('turn-start', 'turn-resume', 'usage', 'tool-call'))).toBe(1);
  expect(lostHosts(events('turn-start', 'turn-resume', 'tool-result', 'turn-resume', 'text'))).toBe(2);
});

it('waits longer after each lost host, so that a series of kills ends before the turn fails', () => {
  const pauses = Array.from({ length: mostLostHosts }, (_, index) => pauseBefore(index + 1));
  expect(pauses).toEqual([0, 0, ...[1, 2, 4, 8, 16, 30, 30, 30].map((seconds) => seconds * 1000)]);
});

describe.skipIf(scene.unavailable !== undefined)(`turns that lose their hosts${skipped}`, patience, () => {
  let server: ModelServer;
  let world: HostWorld;
  let opened: OpenedHost;
  let client: GeodeClient;
  let asked = 0;
  let reply: (number: number) => Reply;

  async function open(): Promise<void> {
    opened = await world.open();
    client = createClient(unixTransport(opened.socket.path));
  }

  /** Ends this many hosts, each while it waits for the model. */
  async function lose(hosts: number): Promise<void> {
    const held = Promise.withResolvers<void>();
    asked = 0;
    reply = () => ({ text: 'never said', hold: held.promise });
    server = await startModelServer(() => {
      asked += 1;
      return reply(asked);
    });
    world = hostWorld(scene.settings(server));
    await open();
    void all(client.agents.send('chat', { text: 'hello' })).catch(() => {});
    for (let host = 1; host <= hosts; host += 1) {
      await eventually(async () => asked === host, `request ${host}`, 60_000);
      await opened[Symbol.asyncDispose]();
      if (host === hosts) reply = () => ({ text: 'Here I am.' });
      await open();
    }
    held.resolve();
  }

  afterEach(async () => {
    await world?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  }, 120_000);

  const end = () =>
    eventually(
      async () => {
        const last = (await all(client.agents.events('chat'))).at(-1);
        return (last?.type === 'result' || last?.type === 'error') && last;
      },
      'the end of the turn',
      60_000,
    );

  it('AGT-4: a turn that lost six hosts without a step is answered by the next host', async () => {
    await lose(6);
    expect(await end()).toMatchObject({ type: 'result', outcome: 'done', text: 'Here I am.' });
  });

  it('an interrupt ends a turn that waits for its retry', async () => {
    // The next host waits for 16 s: longer than this process may be held up on a machine under load.
    await lose(6);
    expect(await client.agents.interrupt('chat')).toBe(true);
    expect(await end()).toMatchObject({ type: 'result', outcome: 'interrupted' });
    expect(asked).toBe(6);
    const events = await all(client.agents.send('chat', { text: 'and now' }));
    expect(events.at(-1)).toMatchObject({ text: 'Here I am.' });
  });
});
