import { join } from 'node:path';
import { type Duplex, duplexPair } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { noLog } from '../../src/base/log.ts';
import { EventLog, eventChapter } from '../../src/ledger/event-log.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { CallLog } from '../../src/mcp/sessions/call-log.ts';
import { LineTransport } from '../../src/mcp/sessions/line-transport.ts';
import { CallAudit, toolChapter } from '../../src/mcp/sessions/tables.ts';
import type { ToolCallRecord } from '../../src/seams/tools.ts';
import { type TemporaryFolder, temporaryFolder } from '../temporary-folder.ts';

let folder: TemporaryFolder;
let ledger: Ledger;
beforeEach(() => {
  folder = temporaryFolder();
  ledger = new Ledger(join(folder.path, 'ledger.db'), [eventChapter, toolChapter]);
});
afterEach(() => {
  ledger[Symbol.dispose]();
  folder[Symbol.dispose]();
});

const record = (tool: string, at = Date.now()): ToolCallRecord => ({
  at,
  user: 'ann',
  chat: 'demo',
  sandboxId: 'sandbox',
  sessionId: 'session',
  tool,
  arguments: '{}',
  outcome: 'ok',
  durationMs: 1,
});
const auditOf = (keepMs = 3_600_000) => new CallAudit(ledger, { mostRecords: 500, keepMs });

describe('the record of calls', () => {
  it('MCP-2: stores every call when it is answered, and reports a flood in few events', async () => {
    const audit = auditOf();
    const events = new EventLog(ledger);
    {
      await using log = new CallLog({ audit, events, log: noLog });
      await Promise.all(Array.from({ length: 100 }, () => log.add(record('echo'))));
      await log.add(record('other'));
      expect(audit.search('ann', 'demo', 1000)).toHaveLength(101);
    }
    const told = new Map<string, number[]>();
    for await (const event of events.read('ann', { after: 0, follow: false }))
      if (event.type === 'tool-call')
        told.set(event.tool, [...(told.get(event.tool) ?? []), event.calls ?? 1]);
    const echoes = told.get('echo') ?? [];
    expect(echoes[0]).toBe(1);
    expect(echoes.reduce((sum, calls) => sum + calls)).toBe(100);
    expect(echoes.length).toBeLessThan(50);
    expect(told.get('other')).toEqual([1]);
  });

  it('stores calls made while it closes; a full ledger fails no call', async () => {
    const events = new EventLog(ledger);
    const log = new CallLog({ audit: auditOf(), events, log: noLog });
    void log.add(record('echo'));
    await log[Symbol.asyncDispose]();
    expect(auditOf().search('ann', undefined, 10)).toHaveLength(1);
    ledger[Symbol.dispose]();
    await log.add(record('echo'));
  });

  it('stores a call that ends after the close at once, and does not wait for a closed ledger', async () => {
    const warnings: string[] = [];
    const warn = (_facts: unknown, message?: string) => void warnings.push(message ?? '');
    const log = new CallLog({
      audit: auditOf(),
      events: new EventLog(ledger, { log: { ...noLog, warn } }),
      log: { ...noLog, warn },
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      await Promise.all([log.add(record('echo')), log.add(record('echo'))]);
      await log[Symbol.asyncDispose]();
      await Promise.all([log.add(record('late')), log.add(record('late')), log.add(record('late'))]);
      expect(auditOf().search('ann', undefined, 10)).toHaveLength(5);
      const told: string[] = [];
      for await (const event of new EventLog(ledger).read('ann', { after: 0, follow: false }))
        if (event.type === 'tool-call') told.push(event.tool);
      expect(told).toEqual(['echo', 'echo', 'late', 'late', 'late']);
      expect(warnings).toEqual([]);
      ledger[Symbol.dispose]();
      await Promise.all([log.add(record('last')), log.add(record('last'))]);
      expect(vi.getTimerCount()).toBe(0);
      expect(warnings).toEqual(['Tool calls are missing in the audit']);
    } finally {
      vi.useRealTimers();
    }
  });

  it('drops the oldest by number and by age', () => {
    const old = Date.now() - 7_200_000;
    const audit = auditOf(3_600_000);
    audit.add(Array.from({ length: 300 }, () => record('old', old)));
    audit.add(Array.from({ length: 700 }, () => record('new')));
    audit.add(Array.from({ length: 200 }, () => record('new')));
    const kept = audit.search('ann', undefined, 10_000);
    expect(new Set(kept.map(({ tool }) => tool))).toEqual(new Set(['new']));
    expect(kept).toHaveLength(500);
  });
});

describe('a connection with many calls at once', () => {
  it('gives other connections turns between its calls, and loses no call', async () => {
    const busy = duplexPair();
    const quiet = duplexPair();
    const order: string[] = [];
    const finished = Promise.withResolvers<void>();
    const listen = async (name: string, stream: Duplex) => {
      const transport = new LineTransport(stream);
      transport.onmessage = (message) => {
        order.push(name);
        if ('id' in message && message.id === 99) finished.resolve();
      };
      await transport.start();
    };
    await listen('busy', busy[1]);
    await listen('quiet', quiet[1]);
    const line = (id: number) => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })}\n`;
    busy[0].write(Array.from({ length: 100 }, (_, id) => line(id)).join(''));
    quiet[0].write(line(1));
    await finished.promise;
    expect(order.filter((name) => name === 'busy')).toHaveLength(100);
    expect(order.indexOf('quiet')).toBeLessThan(50);
    for (const stream of [...busy, ...quiet]) stream.destroy();
  });
});
