import { once } from 'node:events';
import { createServer } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { ApiEnv } from '../../src/api/environment.ts';
import { sendEvents } from '../../src/api/streams.ts';
import { untilAborted } from '../../src/api/until-aborted.ts';

it('keeps no reference to items that it has yielded', async () => {
  const given: WeakRef<Uint8Array>[] = [];
  async function* source() {
    for (;;) {
      const bytes = new Uint8Array(1_000_000);
      given.push(new WeakRef(bytes));
      yield bytes;
      await turn();
    }
  }
  let read = 0;
  for await (const bytes of untilAborted(source(), new AbortController().signal)) {
    read += bytes.length;
    if (given.length === 300) break;
  }
  // Memory that is asked for makes the engine look for what nothing holds.
  const collected = () => {
    void new Uint8Array(16_000_000);
    return given.filter((each) => each.deref() === undefined).length;
  };
  await expect.poll(collected, { timeout: 90_000 }).toBeGreaterThan(100);
  expect(read).toBe(300_000_000);
});

it('ends when the signal fires, also while the source waits', async () => {
  const stop = new AbortController();
  async function* waiting() {
    yield 1;
    await new Promise(() => {});
  }
  const seen: number[] = [];
  for await (const each of untilAborted(waiting(), stop.signal)) {
    seen.push(each);
    setTimeout(() => stop.abort(), 10);
  }
  expect(seen).toEqual([1]);
  for await (const each of untilAborted(waiting(), stop.signal)) seen.push(each);
  expect(seen).toEqual([1]);
});

it('a stream of events closes its source as soon as the caller leaves, also a source without a signal', async () => {
  const left = Promise.withResolvers<void>();
  const steps = [Promise.resolve({ done: false as const, value: { type: 'first' } })];
  const waiting = {
    next: () => steps.shift() ?? new Promise<never>(() => {}),
    async return() {
      left.resolve();
      return { done: true as const, value: undefined };
    },
  };
  const app = new Hono<ApiEnv>();
  app.get('/', (context) =>
    sendEvents(context, 200, { [Symbol.asyncIterator]: () => waiting }, (event) => ({ event })),
  );
  const server = createServer(getRequestListener(app.fetch)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = z.object({ port: z.number() }).parse(server.address());
  const caller = new AbortController();
  const answer = await fetch(`http://127.0.0.1:${port}/`, { signal: caller.signal });
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toContain('event: first');
  caller.abort();
  await left.promise;
  server.close();
});
