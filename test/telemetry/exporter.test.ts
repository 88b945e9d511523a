import { describe, expect, it } from 'vitest';
import { noLog } from '../../src/base/log.ts';
import { Exporter } from '../../src/telemetry/exporter.ts';
import { originOf, spanOf } from '../../src/telemetry/otlp.ts';
import { eventually } from '../contracts/harness.ts';
import { type Collector, startCollector } from './collector.ts';

const origin = originOf([], { name: 's', version: '1' });
const time = '1700000000000000000';
let made = 0;

function span(name = 'x') {
  made += 1;
  const ids = { traceId: 'ab'.repeat(16), spanId: made.toString(16).padStart(16, '0') };
  const times = { startTimeUnixNano: time, endTimeUnixNano: time };
  return spanOf(origin, {
    ...ids,
    ...times,
    name,
    kind: 1,
    attributes: [],
    events: [],
    links: [],
    status: {},
  });
}

function exporterTo(collector: Collector): Exporter {
  return new Exporter({
    url: new URL(`${collector.url}/v1/traces`),
    headers: () => ({}),
    timeoutMs: 60_000,
    tls: () => {
      throw new Error('no TLS here');
    },
    log: noLog,
    delayMs: 10,
  });
}

function countOf(exporter: Exporter, source: string, outcome: string): number {
  const found = exporter.samples.find(
    ({ labels }) => labels?.source === source && labels.outcome === outcome,
  );
  return found?.value ?? 0;
}

describe('the exporter of spans', { timeout: 120_000 }, () => {
  it('OPS-4: sends each span once when it ends while a request is on its way', async () => {
    await using collector = await startCollector();
    const { promise, resolve } = Promise.withResolvers<void>();
    collector.answering = promise;
    const exporter = exporterTo(collector);
    for (let count = 0; count < 1_500; count += 1) exporter.add(span());
    await eventually(async () => collector.spans.length > 0, 'the first request');
    const ended = exporter[Symbol.asyncDispose]();
    resolve();
    await ended;
    const ids = collector.texts.join().match(/"spanId":"[^"]*"/g) ?? [];
    expect(ids).toHaveLength(new Set(ids).size);
    const [sent, lost] = [countOf(exporter, 'host', 'sent'), countOf(exporter, 'host', 'lost')];
    // At its end the exporter has little time, so a slow machine may lose some.
    expect(sent + lost).toBe(1_500);
    expect(sent).toBeLessThanOrEqual(ids.length);
    expect(exporter.add(span())).toBe(false);
  });

  it('OPS-4: keeps and sends spans up to a size, and those of each user apart', async () => {
    await using collector = await startCollector();
    const exporter = exporterTo(collector);
    const large = 'x'.repeat(15 * 1024);
    for (let count = 0; count < 200; count += 1) exporter.add(span(large), 'ann');
    const lost = countOf(exporter, 'sandbox', 'lost');
    expect(lost).toBeGreaterThan(50);
    expect(exporter.add(span('of-bob'), 'bob')).toBe(true);
    expect(exporter.add(span('of-the-host'))).toBe(true);
    await eventually(async () => collector.spans.length === 202 - lost, 'all spans that were kept');
    await exporter[Symbol.asyncDispose]();
    for (const text of collector.texts) {
      expect(Buffer.byteLength(text)).toBeLessThan(1.1 * 1024 ** 2);
      expect([large, 'of-bob', 'of-the-host'].filter((name) => text.includes(`"${name}"`))).toHaveLength(1);
    }
  });
});
