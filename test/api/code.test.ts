import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GeodeClient } from '../../src/client/client.ts';
import { type LiveContexts, openLiveContexts } from '../../src/runs/contexts/live-contexts.ts';
import { createRuns, type Runs } from '../../src/runs/index.ts';
import { startTestHost, type TestHost } from './host-fixture.ts';
import { type Caller, collect } from './server-fixture.ts';

let host: TestHost;
let client: GeodeClient;
let call: Caller;
let runs: Runs;
let contexts: LiveContexts;

beforeAll(async () => {
  host = await startTestHost({
    more({ runtime }, sandboxes) {
      const open = (spec: Parameters<typeof runtime.open>[0]) => runtime.open(spec);
      runs = createRuns({
        runtimes: [runtime],
        choose: async () => runtime,
        images: {},
        pool: { floor: 0, ceiling: 0 },
        concurrency: 2,
        mostWaiting: 10,
        pullDeadlineMs: 60_000,
      });
      contexts = openLiveContexts({ sandboxes, open });
      return {
        runs,
        contexts,
        open,
        probe: async () => [{ runtime, found: await runtime.probe() }],
        settings: () => [
          { name: 'qdrant.api_key', value: 'hush', source: { from: 'default' }, meaning: 'a key' },
          { name: 'qdrant.url', value: 'http://me:hush@db', source: { from: 'default' }, meaning: 'a URL' },
        ],
      };
    },
  });
  client = host.server.client('alice');
  call = host.server.caller('alice');
}, 180_000);
afterAll(async () => {
  await contexts?.[Symbol.asyncDispose]();
  await runs?.[Symbol.asyncDispose]();
  await host?.[Symbol.asyncDispose]();
}, 180_000);

const deadline = { timeout: 180_000 };

describe('runs over HTTP', () => {
  test('API-1: code runs once, with its files, input and artifacts', deadline, async () => {
    const result = await client.runs.run(
      'import sys; open("out.bin","wb").write(bytes([255])); print(open("in.txt").read(), sys.stdin.read(), sys.argv[1])',
      'python',
      { files: { 'in.txt': 'file' }, stdin: 'typed', argv: ['word'], artifacts: ['out.bin', 'none'] },
    );
    expect(result).toMatchObject({
      success: true,
      outcome: 'succeeded',
      stdout: 'file typed word\n',
      compile: null,
    });
    expect(result.artifacts.map(({ path, bytes }) => [path, ...bytes])).toEqual([['out.bin', 255]]);
    expect(result.missedArtifacts).toMatchObject([{ path: 'none' }]);
    const failed = await client.runs.run('raise SystemExit(3)', 'python');
    expect(failed).toMatchObject({ success: false, outcome: 'failed', exitCode: 3 });
  });

  test(
    'streams the output of a run live, and ends the run when the caller disconnects',
    deadline,
    async () => {
      const events = await collect(client.runs.stream('echo hi', 'shell'));
      const types = events.map(({ type }) => type);
      expect(types).toEqual(expect.arrayContaining(['sandbox-ready', 'code-start', 'stdout', 'exit', 'end']));
      expect(types.at(-1)).toBe('end');
      for await (const event of client.runs.stream('echo up; sleep 600', 'shell', { timeoutMs: null })) {
        if (event.type === 'stdout') break;
      }
      await expect.poll(() => runs.metrics().running, { timeout: 60_000 }).toBe(0);
    },
  );

  test('refuses an invalid run', async () => {
    const wrong = [
      { language: 'cobol', code: '' },
      { language: 'python' },
      { language: 'python', code: '', files: { '../x': { text: '' } } },
      { language: 'python', code: '', files: { x: { text: '', base64: '' } } },
      { language: 'python', code: '', timeout_ms: -1 },
    ];
    for (const json of wrong) {
      const { status, body } = await call('/api/v1/runs', { json });
      expect(status, JSON.stringify(json)).toBe(400);
      expect(body).toMatchObject({ code: expect.any(String), hint: expect.any(String) });
    }
    const native = host.server.caller('alice', ['runs']);
    const json = { language: 'python', code: '', runtime: 'native' };
    expect((await native('/api/v1/runs', { json })).body).toMatchObject({ code: 'forbidden' });
  });
});

describe('contexts over HTTP', () => {
  test('API-1: variables stay between runs; events, errors, interrupts and restarts', deadline, async () => {
    await using context = await client.contexts.open('python');
    expect(await client.contexts.list()).toHaveLength(1);
    expect(await context.run('x = 20')).toMatchObject({ status: 'done', value: null });
    const told: string[] = [];
    const result = await context.run('print("shown"); x + 22', { onEvent: ({ type }) => told.push(type) });
    expect(result).toMatchObject({ status: 'done', stdout: 'shown\n', value: { text: '42' } });
    expect(told).toEqual(expect.arrayContaining(['stdout', 'result']));
    expect((await context.run('1/0')).error).toMatchObject({ name: 'ZeroDivisionError' });
    expect(await context.check('for x in y:')).toBe('incomplete');
    const looping = context.run('import time\nprint("looping", flush=True)\ntime.sleep(600)', {
      timeoutMs: null,
      onEvent: ({ type }) => type === 'stdout' && void context.interrupt(),
    });
    expect((await looping).status).toBe('interrupted');
    expect((await context.run('x')).value?.text).toBe('20');
    await context.restart();
    expect((await context.run('x')).error).toMatchObject({ name: 'NameError' });
  });

  test(
    'a context in a persistent sandbox sees its files, and its end leaves the sandbox',
    deadline,
    async () => {
      await client.sandboxes.getOrCreate('lab');
      await client.sandboxes.of('lab').files.write('data.txt', 'from the workspace');
      const context = await client.contexts.open('javascript', { chat: 'lab' });
      const result = await context.run('require("fs").readFileSync("data.txt", "utf8")');
      expect(result.value?.text).toContain('from the workspace');
      await context.close();
      await expect(context.run('1')).rejects.toMatchObject({ code: 'context_not_found' });
      await client.sandboxes.remove('lab');
    },
  );
});

describe('the host over HTTP', () => {
  test('API-1, RT-5: runtimes have grades, settings hide their secrets, health has the version', async () => {
    expect(await client.runtimes()).toMatchObject([{ name: 'bubblewrap', available: true, grade: 'os' }]);
    const text = JSON.stringify(await client.settings());
    expect(text).not.toContain('hush');
    expect(text).toContain('http://me:***@db');
    expect((await host.server.caller('alice', ['sandboxes:read'])('/api/v1/settings')).status).toBe(403);
    expect(await client.health()).toMatchObject({ status: 'up', version: '0.0.0-test' });
    const made = await client.keys.create({ user: 'carol', scopes: ['runs'] });
    expect((await client.keys.list()).map(({ id }) => id)).toContain(made.id);
    await client.keys.revoke(made.id);
    expect(
      (await call('/api/v1/runtimes', { headers: { authorization: `Bearer ${made.secret}` } })).status,
    ).toBe(401);
  });
});
