/** Isolation of two users of one host, for every route of its document, so that new routes are tested here too. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { WebSocket } from 'ws';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { type Scope, scopes } from '../../src/contract/keys.ts';
import { namedRequest } from '../api/named-requests.ts';
import { asObject, type Operation, operationsOf, requestsFor } from '../api/openapi-fuzz.ts';
import { type Caller, callerWith, collect } from '../api/server-fixture.ts';
import { eventually } from '../contracts/harness.ts';
import type { ModelServer } from '../fixtures/model-server/model-server.ts';
import { ProcessTransport } from '../mcp/in-sandbox.ts';
import { isAnswered, problem, repeatingModel, type WholeUser, wholeUser } from './whole-user.ts';
import { type HostWorld, hostWorld, type OpenedHost } from './world.ts';

/** In everything that alice has, and in nothing that bob is sent. */
const mark = 'mark-of-alice-51cc';
const { bubblewrap } = inject('engines');
const plainScopes: readonly Scope[] = scopes.filter((scope) => scope !== 'admin');
const resources = new AsyncDisposableStack();
const patience = { timeout: 600_000 };
let model: ModelServer;
let world: HostWorld;
let opened: OpenedHost;
let alice: Caller;
let bob: Caller;
let alicesKey: string;
let bobsKey: string;
let bobsClient: GeodeClient;
let operations: readonly Operation[];
let document: ReturnType<typeof asObject>;
let owned: WholeUser;
let before: readonly string[];

beforeAll(async () => {
  model = resources.use(await repeatingModel(mark));
  world = resources.use(
    hostWorld({
      GEODE_PROVIDERS_SERVICES: JSON.stringify({
        scripted: { kind: 'anthropic', base_url: `${model.url}/v1`, api_key: 'the-key-of-the-provider' },
      }),
      GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
      // The result does not depend on the request rate.
      GEODE_GATEWAY_RATE: '100000',
    }),
  );
  opened = await world.open();
  const { gateway, host } = opened;
  const keyOf = (user: string) => host.keys.create({ user, scopes: plainScopes }).secret;
  alicesKey = keyOf('alice');
  bobsKey = keyOf('bob');
  [alice, bob] = [callerWith(gateway.url, alicesKey), callerWith(gateway.url, bobsKey)];
  document = asObject((await alice('/openapi.json')).body);
  operations = operationsOf(document);
  asked = operations
    .filter((each) => each.path.startsWith('/api/') && !isSocket(each))
    .toSorted((a, b) => Number(b.method === 'get') - Number(a.method === 'get'));
  bobsClient = createClient({ url: gateway.url, key: bobsKey });
  const client = createClient({ url: gateway.url, key: alicesKey });
  owned = await wholeUser(opened, { user: 'alice', client, call: alice, mark });
  // Writes the counts of the searches so far, which would appear a second later.
  await alice('/api/v1/memory/audit');
  before = await owned.view();
}, 240_000);
afterAll(() => resources.disposeAsync(), 120_000);

/** A name of nothing, of the same form as the right one. */
const nameOfNothing = (place: string, path: string) =>
  owned.nameOf(place, path).replace(/.$/, (last) => (last === '4' ? '3' : '4'));
/** Reading comes first: bob has nothing of his own then. What he makes here has other names than alice's. */
let asked: readonly Operation[];
const query = { path: 'note.txt', pattern: 'mark', q: 'mark', host: 'example.com', port: '80', users: 'all' };
const isSocket = ({ operation }: Operation) => '101' in asObject(operation.responses);

it('SEC-2: alice has data behind every compared route', () => {
  for (const view of before) expect(view).toMatch(/^\S+ (200|404) /);
  const seen = before.filter((view) => view.includes(mark)).map((view) => view.split(' ')[0]);
  expect(seen.length).toBeGreaterThan(14);
  expect(before.join('\n')).not.toContain(`value-${mark}`);
});

/** Asks as bob, and holds the answer to what is true of every answer that he gets. */
async function askAsBob(operation: Operation, nameOf: WholeUser['nameOf']) {
  const { path, ...request } = namedRequest(operation, nameOf, query);
  const { status, body, text } = await bob(path, request);
  const what = `${operation.method} ${path}: ${status} ${text.slice(0, 500)}`;
  expect(text, what).not.toContain(mark);
  expect(status, what).not.toBe(500);
  return { what, text, answer: { status, code: asObject(body).code } };
}

it(
  'SEC-2: every route answers for a name of another user exactly as for an unknown name',
  patience,
  async () => {
    expect(asked.filter(({ path }) => path.includes('{')).length).toBeGreaterThan(60);
    for (const operation of asked) {
      const nothing = await askAsBob(operation, nameOfNothing);
      const right = await askAsBob(operation, owned.nameOf);
      expect(right.answer, right.what).toEqual(nothing.answer);
      // A list has none of the names that the host has made for alice.
      if (!operation.path.includes('{'))
        for (const id of owned.ids) expect(right.text, right.what).not.toContain(id);
      if (operation.method !== 'get') expect(await owned.view(), right.what).toEqual(before);
    }
  },
);

it(
  'SEC-2: any request with the right names reads and changes nothing of another user',
  patience,
  async () => {
    for (const operation of asked.filter(({ path }) => path.includes('{'))) {
      const withRightNames = requestsFor(document, operation).map(({ path, ...rest }) => {
        const [, found = ''] = path.split('?');
        const search = new URLSearchParams(found);
        // A stream that is followed ends only with its caller.
        if (/\/(agents|chats)\/\{chat\}\/events/.test(operation.path)) search.set('follow', 'false');
        return { ...rest, path: `${namedRequest(operation, owned.nameOf, {}).path.split('?')[0]}?${search}` };
      });
      await fc.assert(
        fc.asyncProperty(withRightNames, async ({ path, body, contentType = 'application/json' }) => {
          const method = operation.method.toUpperCase();
          const sent = { body: JSON.stringify(body), headers: { 'content-type': contentType } };
          const { status, text } = await bob(path, { method, ...(body !== undefined && sent) });
          const what = `${method} ${path} ${sent.body}: ${status} ${text.slice(0, 500)}`;
          expect(text, what).not.toContain(mark);
          expect(status, what).not.toBe(500);
        }),
        { numRuns: 3 },
      );
      if (operation.method !== 'get') expect(await owned.view(), operation.path).toEqual(before);
    }
  },
);

it('SEC-2: a WebSocket to data of another user answers as for an unknown name', async () => {
  const answerOf = (path: string) =>
    new Promise<string>((resolve) => {
      const headers = { authorization: `Bearer ${bobsKey}` };
      const socket = new WebSocket(opened.gateway.url.replace('http', 'ws') + path, ['geode.v1'], {
        headers,
      });
      socket.on('unexpected-response', (_, response) => resolve(`refused with ${response.statusCode}`));
      socket.on('open', () => socket.send('{"type":"exec","argv":["cat","note.txt"]}'));
      socket.on('message', (data) => resolve(String(data)));
      socket.on('close', (code) => resolve(`closed with ${code}`));
      socket.on('error', () => {});
    });
  const sockets = operations.filter((each) => isSocket(each) && each.path.includes('{'));
  expect(sockets.map(({ path }) => path.split('/').at(-1))).toEqual(['exec', 'socket']);
  for (const operation of sockets)
    for (const nameOf of [owned.nameOf, nameOfNothing]) {
      const answer = await answerOf(namedRequest(operation, nameOf, query).path);
      expect(answer, operation.path).toMatch(/sandbox_not_found|refused with 404/);
    }
  expect(await owned.view()).toEqual(before);
});

it('SEC-2: data of bob under the same names contains nothing of alice', patience, async () => {
  await bobsClient.sandboxes.getOrCreate('room');
  await bobsClient.sandboxes.of('room').files.write('note.txt', 'of bob');
  await bobsClient.sandboxes.of('room').tools.open();
  await bobsClient.chats.post('line', { text: 'of bob' });
  const inside = asked.filter(({ path }) => /\/(sandboxes|agents|chats)\/\{chat\}\/.*\{/.test(path));
  expect(inside.length).toBeGreaterThan(10);
  const inOwnPlace = (place: string, path: string) =>
    place === 'chat' ? owned.nameOf(place, path) : nameOfNothing(place, path);
  for (const operation of inside) {
    const nothing = await askAsBob(operation, inOwnPlace);
    const right = await askAsBob(operation, owned.nameOf);
    expect(right.answer, right.what).toEqual(nothing.answer);
  }
  const endless = /\/(usage|watch)$/;
  for (const operation of asked.filter(({ path }) => path.includes('{chat}') && !endless.test(path)))
    await askAsBob(operation, owned.nameOf);
  expect(await owned.view()).toEqual(before);
  await bobsClient.sandboxes.remove('room');
});

it('SEC-2: a user receives only their own events, also with a chat of the same name', patience, async () => {
  const client = createClient({ url: opened.gateway.url, key: alicesKey });
  await bobsClient.chats.post('line', { text: 'say the first' });
  await using follows = new AsyncDisposableStack();
  const followed = (events: (signal: AbortSignal) => AsyncIterable<unknown>): string[] => {
    const leaving = new AbortController();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of events(leaving.signal)) seen.push(JSON.stringify(event));
    })().catch((error: unknown) => {
      if (!leaving.signal.aborted) throw error;
    });
    follows.defer(() => {
      leaving.abort();
      return reading;
    });
    return seen;
  };
  // Read from the first event: stored events are as private as new ones.
  const mine = followed((signal) => client.events({ after: 0, signal }));
  const his = followed((signal) => bobsClient.events({ after: 0, signal }));
  const line = followed((signal) => bobsClient.chats.events('line', { signal }));
  const has = (seen: readonly string[], words: string) => async () =>
    seen.some((each) => each.includes(words));
  await eventually(async () => his.length > 0 && mine.length > 0, 'both streams', 60_000);
  await client.chats.post('line', { text: `say ${mark} again` });
  await client.sandboxes.of('room').exec({ argv: ['true'] });
  await eventually(has(mine, 'process-exit'), 'an event of alice', 60_000);
  // Bob's event now comes after all earlier events that he could have received.
  await bobsClient.chats.post('line', { text: 'say the last' });
  await bobsClient.sandboxes.getOrCreate('last');
  await eventually(has(his, '"last"'), 'an event of bob', 60_000);
  await eventually(has(line, 'the last'), 'his message in his chat', 60_000);
  for (const seen of [his, line]) {
    expect(seen.join('\n')).not.toContain(mark);
    for (const id of owned.ids) expect(seen.join('\n')).not.toContain(id);
  }
  // Her own turn is over, so that only bob's requests could change her view from here on.
  await eventually(() => isAnswered(client, 'line'), 'the second answer to alice', 60_000);
  // Writes the counts of the searches for it, which would appear a second later.
  await alice('/api/v1/memory/audit');
  before = await owned.view();
});

it('SEC-2: solving a problem uses nothing learned by a solve of another user', patience, async () => {
  const calls = model.calls.length;
  const solving = { problem, tests: 'assert double(2) == 4', language: 'python' };
  const events = await collect(bobsClient.solves.solve(solving));
  expect(events.at(-1)).toMatchObject({ type: 'result', outcome: 'solved' });
  await collect(bobsClient.agents.send('asks', { text: 'what is the fact, and the note?' }));
  const his = model.calls.slice(calls);
  expect(his.length).toBeGreaterThanOrEqual(2);
  expect(JSON.stringify([events, his.map(({ body }) => body)])).not.toContain(mark);
});

/** Arguments of a tool, by name: the right names of alice's things. */
const inputs = (): Readonly<Record<string, unknown>> => ({
  ...{ chat: 'room', path: 'note.txt', context: owned.nameOf('id', '/contexts/'), snapshot: 'point' },
  ...{ name: 'point', to: 'other', id: owned.nameOf('id', '/schedules/'), uri: 'memory://entry/fact' },
  ...{ query: 'fact', text: 'words', content: 'words', category: 'core', source: 'bob', language: 'python' },
  ...{ argv: ['cat', 'note.txt'], command: 'cat note.txt', code: '1', problem, when: 'every 2h' },
});

async function callEachTool(client: Client, leftOut: readonly string[] = []): Promise<readonly string[]> {
  const { tools } = await client.listTools();
  for (const { name, inputSchema } of tools.filter((tool) => !leftOut.includes(tool.name))) {
    const takes = Object.keys(inputSchema.properties ?? {});
    const needed = [...(inputSchema.required ?? []), ...takes.filter((field) => field === 'chat')];
    const input = Object.fromEntries(needed.map((field) => [field, inputs()[field]]));
    expect(Object.values(input), `${name} takes ${needed.join(', ')}`).not.toContain(undefined);
    const answer = JSON.stringify(await client.callTool({ name, arguments: input }, { timeout: 120_000 }));
    expect(answer, name).not.toContain(mark);
    expect(await owned.view(), name).toEqual(before);
  }
  return tools.map(({ name }) => name);
}

it(
  'SEC-2: no tool of /mcp, called with the right names, reads or changes data of another user',
  patience,
  async () => {
    const client = new Client({ name: 'bob', version: '0' });
    const requestInit = { headers: { authorization: `Bearer ${bobsKey}` } };
    const url = new URL('/mcp', opened.gateway.url);
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
    expect((await callEachTool(client)).length).toBeGreaterThan(10);
    await client.close();
  },
);

it.skipIf(!bubblewrap.available)(
  `SEC-2: no tool of a session in a sandbox reads or changes data of another user${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  patience,
  async () => {
    const sandbox = await opened.host.sandboxes.of('bob').getOrCreate('den', { runtime: 'bubblewrap' });
    await opened.host.tools.open(sandbox);
    const client = new Client({ name: 'bob', version: '0' });
    await client.connect(new ProcessTransport(sandbox));
    // These wait for a person.
    const called = await callEachTool(client, ['ask_person', 'egress_request', 'schedule_add']);
    expect(called).toEqual(expect.arrayContaining(['memory_search', 'read_resource', 'schedule_remove']));
    // The random requests may have stored an entry of his own under this name.
    const { status } = await bob('/api/v1/context/fact', { method: 'DELETE' });
    expect([204, 404]).toContain(status);
    await expect(client.readResource({ uri: 'memory://entry/fact' })).rejects.toThrow(/fact/);
    await client.close();
  },
);
