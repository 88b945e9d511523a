import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { noLog } from '../../src/base/log.ts';
import { clientOfHost } from '../../src/client/host-client.ts';
import { openEgress } from '../../src/egress/open-egress.ts';
import { EventLog, eventChapter } from '../../src/ledger/event-log.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { namedHost } from '../../src/machine/named-host.ts';
import { openWebhooks } from '../../src/webhooks/open-webhooks.ts';
import { webhookChapter } from '../../src/webhooks/webhook-table.ts';
import { geodeProgram } from '../cli/sandbox-home.ts';
import { eventually } from '../contracts/harness.ts';
import { hostWorld } from '../host/world.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { isSigned, startReceiver } from './receiver.ts';

const patienceMs = 120_000;
const body = { sandbox: 'a1', chat: 'demo' } as const;

describe('webhooks', { timeout: 300_000 }, () => {
  it('DR-4: each wanted event of a sandbox reaches the server of its user alone, signed', async () => {
    await using receiver = await startReceiver();
    await using world = hostWorld({ GEODE_WEBHOOKS_PRIVATE: JSON.stringify([`127.0.0.1:${receiver.port}`]) });
    const { host, socket } = await world.open();
    const client = await clientOfHost(socket.path);
    if (client === undefined) throw new Error('the host has no socket');
    const [ann, bob] = [client.as('ann'), client.as('bob')];
    const made = await ann.webhooks.set('ops', {
      url: receiver.url,
      events: ['sandbox-start', 'sandbox-stop', 'sandbox-remove'],
    });
    const secret = made.signingSecret ?? '';
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect((await ann.webhooks.set('ops', { url: receiver.url })).signingSecret).toBeNull();
    await ann.webhooks.set('ops', { url: receiver.url, events: ['sandbox-start', 'sandbox-remove'] });
    await bob.sandboxes.getOrCreate('demo');
    await ann.sandboxes.getOrCreate('demo');
    await ann.sandboxes.stop('demo');
    await ann.sandboxes.remove('demo');
    await eventually(async () => receiver.calls.length >= 2, 'both calls', patienceMs);
    const bodies = receiver.calls.map((call) => JSON.parse(call.body));
    expect(bodies).toMatchObject([
      { type: 'sandbox-start', data: { chat: 'demo', made: true } },
      { type: 'sandbox-remove', data: { chat: 'demo' } },
    ]);
    for (const call of receiver.calls) expect(isSigned(call, secret)).toBe(true);
    expect(receiver.calls.some((call) => isSigned({ ...call, body: '{}' }, secret))).toBe(false);
    const delivered = async () => {
      const all = await ann.webhooks.deliveries('ops');
      return all.every(({ state }) => state === 'delivered') && all;
    };
    const deliveries = await eventually(delivered, 'the record of the calls', patienceMs);
    expect(deliveries.map(({ event, attempts, status }) => [event, attempts, status])).toEqual([
      ['sandbox-remove', 1, 200],
      ['sandbox-start', 1, 200],
    ]);
    expect(deliveries.map(({ id }) => id).reverse()).toEqual(
      receiver.calls.map(({ headers }) => headers['webhook-id']),
    );
    expect(await bob.webhooks.list()).toEqual([]);
    await expect(bob.webhooks.deliveries('ops')).rejects.toMatchObject({ code: 'webhook_not_found' });
    expect(await bob.webhooks.remove('ops')).toBe(false);
    expect(JSON.stringify(await ann.webhooks.list())).not.toContain(secret);
    const audited = async () => {
      const records = host.app.egress.search({ user: 'ann' });
      return records.length === 2 && records;
    };
    for (const record of await eventually(audited, 'the audit of both calls', patienceMs))
      expect(record).toMatchObject({ sandboxId: 'webhook-ops', verdict: 'allowed', method: 'POST' });
    expect(await ann.webhooks.remove('ops')).toBe(true);
    expect(await ann.secrets.list()).toEqual([]);
  });

  it('DR-4: a call that fails is repeated with the same id, also by the next host after a kill', async () => {
    await using receiver = await startReceiver();
    await using world = hostWorld({ GEODE_WEBHOOKS_PRIVATE: JSON.stringify([`127.0.0.1:${receiver.port}`]) });
    await using hosts = new AsyncDisposableStack();
    const start = async () => {
      const child = spawn(process.execPath, [geodeProgram, 'host', '--json'], { env: world.env });
      const over = once(child, 'exit');
      const kill = async () => {
        child.kill('SIGKILL');
        await over;
      };
      hosts.defer(kill);
      for await (const _ of createInterface({ input: child.stdout })) break;
      const client = await clientOfHost(namedHost(world.machine.stateDir)?.serves?.api ?? '');
      if (client === undefined) throw new Error('the host has no socket');
      return { client, kill };
    };
    receiver.answer = 503;
    const first = await start();
    await first.client.webhooks.set('ops', { url: receiver.url, events: ['sandbox-start'] });
    await first.client.sandboxes.getOrCreate('demo');
    await eventually(async () => receiver.calls.length >= 2, 'two attempts', patienceMs);
    await first.kill();
    receiver.answer = 200;
    const failed = receiver.calls.length;
    const { client } = await start();
    await eventually(async () => receiver.calls.length > failed, 'the call of the next host', patienceMs);
    expect(new Set(receiver.calls.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    const delivered = async () => {
      const [only, ...more] = await client.webhooks.deliveries('ops');
      return more.length === 0 && only?.state === 'delivered' && only;
    };
    const last = await eventually(delivered, 'the delivered call', patienceMs);
    expect(last.attempts).toBeGreaterThanOrEqual(2);
    expect(await client.webhooks.list()).toMatchObject([{ waiting: 0, lastError: null }]);
    await client.sandboxes.remove('demo');
  });

  it('no webhook reaches a private address, through a number, a name or a redirect', async () => {
    await using receiver = await startReceiver();
    await using other = await startReceiver();
    await using world = await openWorld({ open: [other.port], denied: ['denied.example.com'] });
    const { webhooks, events } = world;
    const { port } = receiver;
    const closed = [
      ...[`http://127.0.0.1:${port}/`, `http://localhost:${port}/`, `http://0x7f000001:${port}/`],
      ...[`http://[::1]:${port}/`, `http://[::ffff:127.0.0.1]:${port}/`, 'http://169.254.169.254/latest'],
      ...['http://10.0.0.8/', 'http://a.localhost/', 'ftp://example.com/', 'https://user:pw@example.com/'],
      ...['https://denied.example.com/', 'file:///etc/passwd', 'https://example.com/?key=1'],
    ];
    for (const url of closed)
      expect(() => webhooks.set('ann', 'ops', { url }), url).toThrow(
        expect.objectContaining({ code: 'invalid_input' }),
      );
    // The name leads to this machine.
    webhooks.set('ann', 'name', { url: `http://inside.example.com:${port}/` });
    webhooks.set('ann', 'redirect', { url: other.url });
    other.answer = 302;
    other.location = receiver.url;
    events.emit('ann', { type: 'sandbox-pause', ...body });
    const errorOf = (name: string) => webhooks.list('ann').find((each) => each.name === name)?.lastError;
    const both = async () => (errorOf('name') && errorOf('redirect')) || undefined;
    await eventually(both, 'both errors', patienceMs);
    expect(errorOf('name')).toMatch(/not public/);
    expect(errorOf('redirect')).toBe('the server answered 302');
    expect(receiver.calls).toEqual([]);
  });

  it('an attempt that gets no answer ends at its deadline, and says so', async () => {
    await using receiver = await startReceiver();
    await using world = await openWorld({ open: [receiver.port], timeoutMs: 300 });
    receiver.answer = 0;
    world.webhooks.set('ann', 'ops', { url: receiver.url });
    world.events.emit('ann', { type: 'sandbox-pause', ...body });
    const late = async () => world.webhooks.list('ann')[0]?.lastError ?? undefined;
    expect(await eventually(late, 'the error', patienceMs)).toBe('no answer within 0.3 s');
  });

  it('a call goes to exactly the address of its webhook; an address that would change is refused', async () => {
    await using receiver = await startReceiver();
    await using world = await openWorld({ open: [receiver.port] });
    const root = new URL('/', receiver.url).href;
    const lost = ['?Key=abc', '?API_KEY=1', '?a=1;key=2', '?%6bey=1', '?_method=DELETE', 'a%2eb', 'a%5cb'];
    for (const path of lost)
      expect(() => world.webhooks.set('ann', 'ops', { url: root + path }), path).toThrow(
        expect.objectContaining({ code: 'invalid_input' }),
      );
    const odd = ['a%2Bb', 'a%20b', 'caf%C3%A9', 'a+b', 'a;b/c', 'a//b?x=1&y=%20', '%zz', 'a%2fb/'];
    for (const [at, path] of odd.entries()) world.webhooks.set('ann', `w${at}`, { url: root + path });
    world.events.emit('ann', { type: 'sandbox-pause', ...body });
    await eventually(async () => receiver.calls.length >= odd.length, 'every call', patienceMs);
    expect(receiver.calls.map(({ path }) => path).toSorted()).toEqual(
      odd.map((path) => `/${path}`).toSorted(),
    );
  });

  it('an event before the first host that sends is sent by that host, also if it cannot read at first', async () => {
    await using receiver = await startReceiver();
    await using world = await openWorld({ open: [receiver.port], sends: false });
    world.webhooks.set('ann', 'ops', { url: receiver.url });
    world.events.emit('ann', { type: 'sandbox-pause', ...body });
    world.ledger.write((sql) => sql.run`ALTER TABLE webhook_position RENAME TO away`);
    await using _sender = world.another({ sends: true });
    world.ledger.write((sql) => sql.run`ALTER TABLE away RENAME TO webhook_position`);
    await eventually(async () => receiver.calls.length === 1, 'the call', patienceMs);
  });

  it('creating and removing can be repeated after a failure in the middle: no secret stays that nobody knows', async () => {
    await using world = await openWorld({ open: [1] });
    const { webhooks, ledger } = world;
    const set = () => webhooks.set('ann', 'ops', { url: 'http://127.0.0.1:1/' }).signingSecret;
    ledger.write(
      (sql) =>
        sql.run`CREATE TRIGGER no_webhook BEFORE INSERT ON webhooks BEGIN SELECT RAISE(ABORT, 'no'); END`,
    );
    expect(set).toThrow(expect.objectContaining({ code: 'ledger_failed' }));
    ledger.write((sql) => sql.run`DROP TRIGGER no_webhook`);
    expect(set()).toMatch(/^whsec_/);
    ledger.write(
      (sql) =>
        sql.run`CREATE TRIGGER no_removal BEFORE DELETE ON egress_secrets BEGIN SELECT RAISE(ABORT, 'no'); END`,
    );
    expect(() => webhooks.remove('ann', 'ops')).toThrow(expect.objectContaining({ code: 'ledger_failed' }));
    ledger.write((sql) => sql.run`DROP TRIGGER no_removal`);
    expect(webhooks.remove('ann', 'ops')).toBe(true);
    expect(set()).toMatch(/^whsec_/);
  });

  it('an answer of the former address changes nothing, and the call goes to the new one', async () => {
    await using former = await startReceiver();
    await using receiver = await startReceiver();
    await using world = await openWorld({ open: [former.port, receiver.port] });
    const { webhooks, events } = world;
    const held = Promise.withResolvers<void>();
    former.hold = held.promise;
    former.answer = 410;
    webhooks.set('ann', 'ops', { url: former.url });
    events.emit('ann', { type: 'sandbox-pause', ...body });
    await eventually(async () => former.calls.length === 1, 'the call of the former address', patienceMs);
    webhooks.set('ann', 'ops', { url: receiver.url });
    held.resolve();
    const delivered = async () => webhooks.deliveries('ann', 'ops', 1)[0]?.state === 'delivered';
    await eventually(delivered, 'the call of the new address', patienceMs);
    expect(webhooks.list('ann')).toMatchObject([{ enabled: true, lastError: null }]);
    expect(receiver.calls).toHaveLength(1);
    expect(former.calls).toHaveLength(1);
  });

  it('the queue is bounded, a removed address ends it, and nothing is sent while a webhook is off', async () => {
    await using receiver = await startReceiver();
    await using world = await openWorld({ open: [receiver.port] });
    const { webhooks, events } = world;
    receiver.answer = 500;
    webhooks.set('ann', 'ops', { url: receiver.url });
    webhooks.set('ann', 'off', { url: receiver.url, enabled: false });
    for (let each = 0; each < 10; each += 1) events.emit('ann', { type: 'sandbox-pause', ...body });
    const state = (name: string) => webhooks.list('ann').find((each) => each.name === name);
    await eventually(async () => state('ops')?.dropped === 7, 'the dropped events', patienceMs);
    expect(state('ops')).toMatchObject({ waiting: 3, enabled: true });
    expect(state('off')).toMatchObject({ waiting: 0, dropped: 0 });
    receiver.answer = 410;
    await eventually(async () => state('ops')?.enabled === false, 'the end of the webhook', patienceMs);
    expect(webhooks.deliveries('ann', 'ops', 100)).toContainEqual(
      expect.objectContaining({ state: 'failed', status: 410, nextAt: null }),
    );
    for (let each = 2; each < 16; each += 1) webhooks.set('ann', `w${each}`, { url: receiver.url });
    expect(() => webhooks.set('ann', 'more', { url: receiver.url })).toThrow(
      expect.objectContaining({ code: 'too_many_webhooks' }),
    );
  });
});

async function openWorld({
  open,
  denied = [],
  timeoutMs = 30_000,
  sends = true,
}: {
  readonly open: readonly number[];
  readonly denied?: readonly string[];
  readonly timeoutMs?: number;
  readonly sends?: boolean;
}) {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(temporaryFolder());
  const file = join(folder.path, 'ledger.db');
  const ledger = opened.use(new Ledger(file, [eventChapter, webhookChapter]));
  const events = new EventLog(ledger);
  const deny = denied.map((host) => ({ host }));
  const egress = opened.use(
    openEgress({
      ledgerFile: file,
      audit: { mostRecords: 100, keepMs: 3_600_000 },
      secretsKeyFile: join(folder.path, 'secrets.key'),
      usage: { prices: {}, budgetPerDay: null, tokensPerDay: null },
      warn: () => {},
      resolve: async () => ['127.0.0.1'],
      denied: deny,
    }),
  );
  const another = (given: { readonly sends: boolean }) =>
    openWebhooks({
      ...given,
      ledger,
      events,
      log: noLog,
      bind: (owner, binding) => egress.bind(owner, binding),
      secrets: egress.secrets,
      allowed: {
        mode: 'allow-all',
        allow: open.map((port) => ({ host: '127.0.0.1', ports: [port], private: true })),
        deny,
      },
      timeoutMs,
      mostWaiting: 3,
    });
  const webhooks = opened.use(another({ sends }));
  const all = opened.move();
  return { webhooks, events, ledger, another, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
