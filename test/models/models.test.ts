import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ErrorCode } from '../../src/base/errors.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { Accounting, modelChapter } from '../../src/models/accounting.ts';
import { openModels } from '../../src/models/open-models.ts';
import type { Model, ProviderKind } from '../../src/seams/model.ts';
import { type ModelServer, type Script, startModelServer } from '../fixtures/model-server/model-server.ts';

const wires: readonly (readonly [ProviderKind, path: string])[] = [
  ['anthropic', '/v1/messages'],
  ['openai', '/v1/responses'],
  ['openai-compatible', '/v1/chat/completions'],
];

const ask = {
  user: 'alice',
  instructions: 'Be brief.',
  messages: [{ role: 'user', text: 'Say hello' }],
} as const;

describe.each(wires)('SLV-4: the %s wire', (kind, path) => {
  it('sends the key and the prompt, and streams the answer with its usage', async () => {
    await using setup = await open(kind, () => ({
      text: 'Hello, world. This comes in pieces.',
      usage: { input: 1000, cached: 400, output: 200 },
    }));
    const pieces: string[] = [];
    let answer: unknown;
    for await (const event of setup.model.stream(ask)) {
      if (event.type === 'text-delta') pieces.push(event.text);
      else answer = event;
    }
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join('')).toBe('Hello, world. This comes in pieces.');
    expect(answer).toMatchObject({
      text: 'Hello, world. This comes in pieces.',
      finish: 'stop',
      usage: { inputTokens: 1000, cachedTokens: 400, outputTokens: 200 },
    });
    expect(answer).toHaveProperty('cost', (600 * 2 + 400 * 1 + 200 * 4) / 1e6);
    const [call] = setup.server.calls;
    expect(call?.wire).toBe(path);
    expect(call?.prompt).toContain('Be brief.');
    expect(call?.headers['x-api-key'] ?? call?.headers.authorization).toContain('the-key');
    expect(setup.accounting.spending('alice')).toMatchObject([
      { calls: 1, inputTokens: 1000, outputTokens: 200 },
    ]);
  });

  it('retries after a rate limit, when the wait of the provider is over', async () => {
    await using setup = await open(kind, (_call, number) =>
      number === 1 ? { status: 429, headers: { 'retry-after-ms': '5' } } : { text: 'later' },
    );
    expect((await setup.model.ask(ask)).text).toBe('later');
    expect(setup.server.calls).toHaveLength(2);
  });

  const failures: readonly (readonly [number, ErrorCode])[] = [
    [400, 'provider_failed'],
    [401, 'provider_refused'],
    [403, 'provider_refused'],
    [429, 'provider_limited'],
    [500, 'provider_failed'],
    [529, 'provider_limited'],
  ];
  it.each(failures)('reports %s as %s, with the reason of the provider', async (status, code) => {
    await using setup = await open(kind, () => ({ status, headers: { 'retry-after-ms': '5' } }));
    await expect(setup.model.ask(ask)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(`scripted ${status}`),
    });
  });

  it('broken JSON, an empty answer and a stream that is cut are failures, not answers', async () => {
    await using broken = await open(kind, () => ({
      status: 200,
      body: 'data: {"type": nonsense\n\n',
      headers: { 'content-type': 'text/event-stream' },
    }));
    await expect(broken.model.ask(ask)).rejects.toMatchObject({ code: 'provider_failed' });
    await using empty = await open(kind, () => ({
      status: 200,
      body: '',
      headers: { 'content-type': 'text/event-stream' },
    }));
    await expect(empty.model.ask(ask)).rejects.toMatchObject({ code: 'provider_failed' });
    await using cut = await open(kind, () => ({
      text: 'a long answer that is cut',
      pieceLength: 4,
      cutAfter: 2,
    }));
    await expect(cut.model.ask(ask)).rejects.toMatchObject({ code: expect.stringContaining('provider_') });
  });

  it.each(['reset', 'close'] as const)(
    'requests an answer again when it is cut (%s), and discards the first part with a restart event',
    async (cutBy) => {
      const read = Promise.withResolvers<void>();
      await using setup = await open(kind, (_call, number) => ({
        ...{ text: 'a long answer that is whole', pieceLength: 4, everyMs: 20 },
        ...(number === 1 && { cutAfter: 2, cutBy, cutWhen: read.promise }),
      }));
      let shown = '';
      let restarts = 0;
      for await (const event of setup.model.stream(ask)) {
        if (event.type === 'text-delta') shown += event.text;
        if (shown === 'a long a') read.resolve();
        if (event.type !== 'restart') continue;
        restarts += 1;
        expect(shown).toBe('a long a');
        shown = '';
      }
      expect([restarts, shown]).toEqual([1, 'a long answer that is whole']);
      expect(setup.server.calls).toHaveLength(2);
    },
  );

  it('requests an answer again without a restart event when it is cut before its first word', async () => {
    await using setup = await open(kind, (_call, number) => ({
      text: 'whole',
      ...(number === 1 && { cutAfter: 0, cutBy: 'close' }),
    }));
    const types: string[] = [];
    for await (const { type } of setup.model.stream(ask)) types.push(type);
    expect(types).toEqual(['text-delta', 'answer']);
    expect(setup.server.calls).toHaveLength(2);
  });

  it('calls tools, and gets their results', async () => {
    await using setup = await open(kind, (_call, number) =>
      number === 1
        ? { text: 'I look.', calls: [{ tool: 'look', input: { at: 'the door' } }] }
        : { text: 'It is open.' },
    );
    const look = { name: 'look', description: 'Looks.', input: z.strictObject({ at: z.string() }) };
    const request = { ...ask, tools: [look] };
    const first = await setup.model.ask(request);
    expect(first).toMatchObject({ text: 'I look.', finish: 'calls' });
    expect(first.calls).toEqual([{ id: 'call_1_0', tool: 'look', input: { at: 'the door' } }]);
    const results = [{ id: 'call_1_0', tool: 'look', output: 'an open door', failed: false }];
    const messages = [
      ...ask.messages,
      { role: 'assistant', text: first.text, calls: first.calls },
      { role: 'tool', results },
    ] as const;
    expect(await setup.model.ask({ ...request, messages })).toMatchObject({
      text: 'It is open.',
      calls: [],
      finish: 'stop',
    });
    expect(JSON.stringify(setup.server.calls[0]?.body)).toContain('"additionalProperties":false');
    expect(JSON.stringify(setup.server.calls[1]?.body)).toMatch(/I look\.[\s\S]*the door[\s\S]*an open door/);
  });

  it('reports a declined answer and an answer cut by the token limit', async () => {
    await using refused = await open(kind, () => ({ text: 'no', finish: 'refused' }));
    expect((await refused.model.ask(ask)).finish).toBe('refused');
    await using long = await open(kind, () => ({ text: 'and then', finish: 'length' }));
    expect((await long.model.ask(ask)).finish).toBe('length');
  });

  it('ends the call when the caller cancels or the deadline passes', async () => {
    const never = new Promise<void>(() => {});
    await using setup = await open(kind, () => ({ text: 'late', hold: never }));
    const stop = new AbortController();
    const asking = setup.model.ask(ask, { signal: stop.signal });
    await expect.poll(() => setup.server.calls.length, { timeout: 60_000 }).toBe(1);
    stop.abort();
    await expect(asking).rejects.toMatchObject({ code: 'cancelled' });
    await using slow = await open(kind, () => ({ text: 'late', hold: never }), { timeoutMs: 100 });
    await expect(slow.model.ask(ask)).rejects.toMatchObject({ code: 'timed_out' });
  });
});

describe('models', () => {
  it('refuses a call when the budget is spent', async () => {
    await using setup = await open(
      'anthropic',
      () => ({ text: 'hi', usage: { input: 1_000_000, output: 0 } }),
      {
        budget: 1,
      },
    );
    await setup.model.ask(ask);
    await expect(setup.model.ask(ask)).rejects.toMatchObject({ code: 'budget_spent', status: 402 });
    expect(setup.server.calls).toHaveLength(1);
    await setup.model.ask({ ...ask, user: 'bob' });
  });

  it('reports a missing server with its own code', async () => {
    await using setup = await open('openai', () => ({ text: '' }));
    await setup.server[Symbol.asyncDispose]();
    await expect(setup.model.ask(ask)).rejects.toMatchObject({ code: 'provider_unreachable' });
  });

  it('names the missing setting of the config', async () => {
    await using setup = await open('openai', () => ({ text: '' }));
    expect(() => setup.models.get('cheap')).not.toThrow();
    expect(() => setup.models.get('nowhere/model')).toThrow(/services are: scripted/);
    expect(() => setup.models.get('justamodel')).toThrow(/SERVICE\/MODEL/);
    const none = openModels({
      services: {},
      prices: {},
      accounting: setup.accounting,
      timeoutMs: 1,
      retries: 0,
    });
    expect(() => none.get()).toThrow(/No model is set/);
  });
});

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'models-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Setup extends AsyncDisposable {
  readonly model: Model;
  readonly models: ReturnType<typeof openModels>;
  readonly server: ModelServer;
  readonly accounting: Accounting;
}

async function open(
  kind: ProviderKind,
  script: Script,
  { timeoutMs = 30_000, budget = null }: { timeoutMs?: number; budget?: number | null } = {},
): Promise<Setup> {
  const server = await startModelServer(script);
  const ledger = new Ledger(join(folder, `${crypto.randomUUID()}.db`), [modelChapter]);
  const accounting = new Accounting(ledger, budget);
  const models = openModels({
    services: { scripted: { kind, baseUrl: `${server.url}/v1`, apiKey: 'the-key' } },
    default: 'scripted/some-model',
    prices: { 'some-model': { input: 2, output: 4, cached: 1 } },
    accounting,
    timeoutMs,
    retries: 1,
  });
  return {
    model: models.get(),
    models,
    server,
    accounting,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      ledger[Symbol.dispose]();
    },
  };
}
