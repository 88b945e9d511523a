/** Two users of one whole host. What holds is asked of every route of its document: whoever adds one is tested here. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { type Scope, scopes } from '../../src/contract/keys.ts';
import { asObject, type Operation, operationsOf, requestsFor } from '../api/openapi-fuzz.ts';
import { type Caller, callerWith, collect } from '../api/server-fixture.ts';
import { eventually } from '../contracts/harness.ts';
import { startModelServer } from '../fixtures/model-server/model-server.ts';
import { type HostWorld, hostWorld, type OpenedHost } from './world.ts';

/** In everything that alice has, and in nothing that bob is told. */
const mark = 'mark-of-alice-51cc';
const secretValue = `value-${mark}`;
const plainScopes: readonly Scope[] = scopes.filter((scope) => scope !== 'admin');
const resources = new AsyncDisposableStack();
let world: HostWorld;
let opened: OpenedHost;
let alice: Caller;
let bob: Caller;
let operations: readonly Operation[];
let document: ReturnType<typeof asObject>;
/** The names and ids of what alice has, which bob has guessed right. */
let known: readonly string[];

beforeAll(async () => {
  const model = resources.use(
    await startModelServer(({ prompt }) => ({
      text: prompt.includes(mark) ? `the answer has ${mark}` : 'Nothing.',
    })),
  );
  world = resources.use(
    hostWorld({
      GEODE_PROVIDERS_SERVICES: JSON.stringify({
        scripted: { kind: 'anthropic', base_url: `${model.url}/v1`, api_key: 'the-key-of-the-provider' },
      }),
      GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
      // What holds does not hang on how fast somebody asks.
      GEODE_GATEWAY_RATE: '100000',
    }),
  );
  opened = await world.open();
  const { gateway, host } = opened;
  const keyOf = (user: string) => host.keys.create({ user, scopes: plainScopes }).secret;
  [alice, bob] = [callerWith(gateway.url, keyOf('alice')), callerWith(gateway.url, keyOf('bob'))];
  document = asObject((await alice('/openapi.json')).body);
  operations = operationsOf(document).filter(({ path }) => path.startsWith('/api/'));
  const client = createClient({ url: gateway.url, key: keyOf('alice') });
  await client.sandboxes.getOrCreate('room', { labels: { note: mark } });
  const sandbox = client.sandboxes.of('room');
  await sandbox.files.write('note.txt', mark);
  await sandbox.snapshots.take({ name: 'point' });
  const { id: processId } = await sandbox.spawn({
    argv: ['/bin/sh', '-c', `echo ${mark}; sleep 600`],
    timeoutMs: null,
  });
  await client.ingest({ id: 'fact', content: `a fact with ${mark}`, category: 'core', source: 'alice' });
  await client.secrets.set('token', secretValue);
  const { id: contextId } = await client.contexts.open('python', { chat: 'room' });
  await collect(client.agents.send('talk', { text: `say ${mark}` }));
  await client.chats.post('line', { text: `say ${mark}` });
  const answered = async () => {
    const events = await collect(client.chats.events('line', { follow: false }));
    return JSON.stringify(events).includes(`the answer has ${mark}`);
  };
  await eventually(answered, 'the answer in the chat', 60_000);
  const schedule = await client.chats.schedule('line', { when: '0 9 1 1 *', text: mark });
  known = ['room', 'note.txt', 'point', processId, 'fact', 'token', contextId, 'talk', 'line', schedule.id];
}, 240_000);
afterAll(() => resources.disposeAsync(), 120_000);

/** What takes a machine-wide turn, or goes on for as long as somebody listens. */
const leftOut =
  /^\/api\/v1\/(host|images|events|machine|solve|tools\/calls)|\/(usage|socket|watch|output|pull|events)$/;
/** What changes by itself, or is about the host and not about a user. */
const notOfAlice = /events|machine|runtimes|images|search|usage|settings|log$|calls$|channels/;

/** All that alice can look at, as she sees it, without the times. */
async function viewOfAlice(): Promise<readonly string[]> {
  const lists = operations.filter(
    ({ method, path }) => method === 'get' && !path.includes('{') && !notOfAlice.test(path),
  );
  expect(lists.length).toBeGreaterThan(6);
  const own = ['/api/v1/sandboxes/room/files/content?path=note.txt', '/api/v1/sandboxes/room/journals'];
  const views = [];
  for (const path of [...lists.map((each) => each.path), ...own]) {
    const { status, text } = await alice(path);
    views.push(
      `${path} ${status} ${text.replace(/"[a-z_]*(_at|_ms|idle|cpu|bytes)[a-z_]*":("[^"]*"|[\d.]+|null)/g, '')}`,
    );
  }
  return views;
}

/** A request of bob, for what alice has: the names are right, the rest is anything that the document knows. */
function guesses(operation: Operation) {
  return fc
    .tuple(requestsFor(document, operation), fc.infiniteStream(fc.constantFrom(...known)))
    .map(([{ path, body, contentType }, names]) => {
      const guessed = operation.path.replace(/\{\w+\}/g, () => encodeURIComponent(names.next().value));
      return { path: guessed + (/\?.*/.exec(path)?.[0] ?? ''), body, contentType };
    });
}

it("SEC-2: no call with another user's key reads, lists, guesses or disturbs a sandbox, memory, a journal, a session or a secret", {
  timeout: 600_000,
}, async () => {
  const before = await viewOfAlice();
  expect(before.join('\n')).toContain(mark);
  // Reading comes first: bob has nothing then whose events he could follow for ever.
  const asked = operations
    .filter(({ path }) => !leftOut.test(path))
    .sort((a, b) => Number(b.method === 'get') - Number(a.method === 'get'));
  expect(asked.length).toBeGreaterThan(70);
  for (const operation of asked) {
    await fc.assert(
      fc.asyncProperty(guesses(operation), async ({ path, body, contentType = 'application/json' }) => {
        const reply = await bob(path, {
          method: operation.method.toUpperCase(),
          ...(body !== undefined && {
            body: JSON.stringify(body),
            headers: { 'content-type': contentType },
          }),
        });

        const what = `${operation.method} ${path} ${JSON.stringify(body)}: ${reply.status} ${reply.text.slice(0, 500)}`;
        expect(reply.text, what).not.toContain(mark);
        expect(reply.status, what).not.toBe(500);
      }),
      { numRuns: 4 },
    );
    if (operation.method !== 'get') expect(await viewOfAlice(), operation.path).toEqual(before);
  }
  const seen = await opened.host.sandboxes.of('alice').list();
  expect(seen.map(({ chat }) => chat)).toContain('room');
});

it('SEC-2: the value of a secret is told to nobody, its owner included', async () => {
  for (const { path } of operations.filter(
    ({ method, path: at }) => method === 'get' && at.includes('secrets'),
  ))
    for (const caller of [alice, bob])
      expect((await caller(path.replace(/\{\w+\}/, 'token'))).text).not.toContain(secretValue);
});
