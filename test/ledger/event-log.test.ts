import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventLog, eventChapter } from '../../src/ledger/event-log.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { type EventGap, everyone, type HostEvent } from '../../src/seams/events.ts';
import { eachOf } from '../each-of.ts';
import { type TemporaryFolder, temporaryFolder } from '../temporary-folder.ts';

let folder: TemporaryFolder;
let ledger: Ledger;
beforeEach(() => {
  folder = temporaryFolder();
  ledger = new Ledger(join(folder.path, 'ledger.db'), [eventChapter]);
});
afterEach(() => {
  ledger[Symbol.dispose]();
  folder[Symbol.dispose]();
});

const removed = (key: string) => ({ type: 'entry-removed', key }) as const;
const keyOf = (event: HostEvent | EventGap) => (event.type === 'entry-removed' ? event.key : event.type);

async function collected(reading: AsyncIterable<HostEvent | EventGap>) {
  const events: (HostEvent | EventGap)[] = [];
  for await (const event of reading) events.push(event);
  return events;
}

async function keys(reading: AsyncIterable<HostEvent | EventGap>) {
  return (await collected(reading)).map(keyOf);
}

describe('the event stream', () => {
  it('API-3: a reader catches up after its last sequence number, then gets new events, each once', async () => {
    const events = new EventLog(ledger);
    for (const key of ['a', 'b', 'c']) events.emit('ann', removed(key));
    const stop = new AbortController();
    const heard: string[] = [];
    let last = 0;
    for await (const event of events.read('ann', { after: 1, signal: stop.signal })) {
      heard.push(keyOf(event));
      expect(event.seq).toBeGreaterThan(last);
      last = event.seq;
      if (heard.length === 2) setImmediate(() => events.emit('ann', removed('d')));
      if (heard.length === 3) for (const key of ['e', 'f']) events.emit('ann', removed(key));
      if (heard.length === 5) stop.abort();
    }
    expect(heard).toEqual(['b', 'c', 'd', 'e', 'f']);
  });

  it('API-3: a user gets only their own events, and the operator gets all', async () => {
    const events = new EventLog(ledger);
    for (let index = 0; index < 600; index += 1)
      events.emit(index % 2 === 0 ? 'ann' : 'bob', removed(`${index}`));
    const whole = { after: 0, follow: false };
    const anns = await keys(events.read('ann', whole));
    expect(anns).toHaveLength(300);
    expect(eachOf(anns).every((key) => Number(key) % 2 === 0)).toBe(true);
    expect(await keys(events.read('everyone', whole))).toEqual([]);
    expect(await keys(events.read(everyone, whole))).toHaveLength(600);
  });

  it('yields only new events without a number', async () => {
    const events = new EventLog(ledger);
    events.emit('ann', removed('before'));
    const reading = events.read('ann');
    const first = reading[Symbol.asyncIterator]().next();
    events.emit('bob', removed('not hers'));
    events.emit('ann', removed('now'));
    expect((await first).value).toMatchObject({ key: 'now', seq: 3 });
  });

  it('keeps a limited number, continues counting in the next host, and reports the gap', async () => {
    const first = new EventLog(ledger, { keep: 100 });
    for (let index = 0; index < 1000; index += 1) first.emit('ann', removed(`${index}`));
    const kept = ledger.read((sql) => Number(sql.get`SELECT count(*) AS kept FROM events`?.kept));
    expect(kept).toBeLessThan(300);
    const events = new EventLog(ledger, { keep: 100 });
    expect(events.latest).toBe(1000);
    const read = await collected(events.read('ann', { after: 10, follow: false }));
    expect(read[0]).toEqual({ type: 'gap', seq: 1000 - kept });
    expect(read.slice(1).map(({ seq }) => seq)).toEqual(
      Array.from({ length: kept }, (_, index) => 1001 - kept + index),
    );
    // The number of a ledger that was lost.
    expect(await collected(events.read('ann', { after: 99_999, follow: false }))).toEqual([
      { type: 'gap', seq: 1000 },
    ]);
  });

  it('logs an event that cannot be stored, and continues', () => {
    const lines: string[] = [];
    const warn = (_: unknown, message?: string) => void lines.push(message ?? '');
    const log = { debug() {}, info() {}, warn, error() {}, child: () => log };
    const events = new EventLog(ledger, { log });
    ledger[Symbol.dispose]();
    events.emit('ann', removed('lost'));
    expect(lines).toEqual([expect.stringContaining('could not be stored')]);
    ledger = new Ledger(join(folder.path, 'ledger.db'), [eventChapter]);
  });
});
