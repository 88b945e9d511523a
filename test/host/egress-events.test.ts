import { describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { denialEvents } from '../../src/egress/audit/denial-events.ts';
import type { EgressOwner } from '../../src/seams/egress.ts';
import type { EventBody, EventGap, HostEvent } from '../../src/seams/events.ts';
import { getUrl } from '../egress/hatch-fixture.ts';
import { hostWorld } from './world.ts';

describe('refusals of the hatch as events', () => {
  it('a refused connection of a sandbox in real walls sends an event to its user, with the scope', {
    timeout: 180_000,
  }, async () => {
    await using world = hostWorld({ GEODE_RUNTIME_NAME: 'bubblewrap' });
    const { host, socket, gateway } = await world.open();
    const ann = createClient(unixTransport(socket.path)).as('ann');
    const egress = { allow: ['example.com'] };
    const { id } = await ann.sandboxes.getOrCreate('demo', { egress });
    const url = 'http://refused.test:8080/secret-path';
    const { stdout, denied } = await ann.sandboxes
      .of('demo')
      .exec({ argv: ['python3', '-c', getUrl, url, url], timeoutMs: 60_000 });
    expect(stdout).toContain('403 Geode: refused.test:8080 is not in the policy');
    expect(denied).toHaveLength(2);
    const run = await ann.runs.run(getUrl, 'python', { argv: ['http://other.test/'] });
    expect(run.stdout).toContain('403 Geode: other.test:80 is not allowed: no rule allows it');

    const heard = async (
      user: string,
      scopes: Parameters<typeof host.keys.create>[0]['scopes'],
      wanted: HostEvent['type'] = 'egress-denied',
    ) => {
      const { secret } = host.keys.create({ user, scopes });
      const events: (HostEvent | EventGap)[] = [];
      const client = createClient({ url: gateway.url, key: secret });
      for await (const event of client.events({ after: 0, follow: false })) events.push(event);
      return events.filter(({ type }) => type === wanted);
    };
    const refused = { type: 'egress-denied', user: 'ann', rule: 'allow-list' };
    const ofSandbox = { ...refused, sandbox: id, chat: 'demo', host: 'refused.test', port: 8080 };
    const ofRun = {
      ...refused,
      rule: 'deny-all',
      sandbox: run.sandbox.id,
      chat: null,
      host: 'other.test',
      port: 80,
    };
    expect(await heard('ann', ['sandboxes:read', 'runs'])).toMatchObject([ofSandbox, ofRun]);
    expect(await heard('ann', ['sandboxes:read'])).toMatchObject([ofSandbox]);
    expect(await heard('ann', ['runs'])).toMatchObject([ofRun]);
    expect(await heard('ann', ['memory:read', 'secrets', 'admin'])).toEqual([]);
    expect(await heard('bob', ['sandboxes:read', 'runs'])).toEqual([]);
    expect(JSON.stringify(await heard('ann', ['sandboxes:read', 'runs']))).not.toContain('secret-path');

    await ann.egress.setDefault({ allow: ['example.com'] });
    await ann.egress.clearDefault();
    const changes = [
      { type: 'egress-default', user: 'ann', mode: 'allow-list' },
      { type: 'egress-default', user: 'ann', mode: null },
    ];
    expect(await heard('ann', ['sandboxes:read'], 'egress-default')).toMatchObject(changes);
    expect(await heard('ann', ['runs'], 'egress-default')).toEqual([]);
  });

  it('repeated refusals of a sandbox send one event for each target, for a limited number of targets', () => {
    const told: EventBody[] = [];
    let now = 1_000_000;
    const owner: EgressOwner = { sandboxId: 'room-1', user: 'ann', chat: 'demo' };
    const emit = denialEvents({ emit: (_, event) => void told.push(event) }, owner, () => now);
    const refuse = (host: string) =>
      emit({ at: now, host, port: 443, rule: 'allow-list', reason: 'no', ask: '' });
    for (let time = 0; time < 10; time += 1) refuse('one.test');
    expect(told).toHaveLength(1);
    for (let index = 0; index < 1_000; index += 1) refuse(`${index}.test`);
    expect(told).toHaveLength(30);
    now += 60_000;
    refuse('one.test');
    expect(told).toHaveLength(31);
  });
});
