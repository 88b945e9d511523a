import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { journalFiles } from '../../src/journals/journal-files.ts';
import { journalReading } from '../../src/journals/journal-reading.ts';
import type { Journal } from '../../src/seams/journal.ts';

const exit = { exitCode: 3, signal: null, timedOut: false, oomKilled: false, durationMs: 1 };
const secret = 'hunter2hunter2';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'geode-journals-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Appends text where the journal ends. */
function say(journal: Journal, text: string, kind: 'stdout' | 'stderr' = 'stdout'): void {
  journal.append(kind, Buffer.from(text), journal.length);
}

/** A journal that has lost its middle, of numbered lines. */
function longJournal(lines = 20_000): Journal {
  const journal = journalFiles(folder, { keepBytes: 256 * 1024, keepFinished: 5 }).open('long');
  for (let line = 1; line <= lines; line += 1) {
    say(
      journal,
      `line ${line}${line % 100 === 0 ? ' hundred' : ''}\n`,
      line % 10 === 0 ? 'stderr' : 'stdout',
    );
  }
  return journal;
}

describe('tail', () => {
  it('PROC-2: returns the last lines with their offsets, also of one stream', async () => {
    const journal = longJournal();
    const reading = journalReading(folder);
    const lines = await reading.tail('long', 3);
    expect(lines.map(({ text }) => text)).toEqual(['line 19998', 'line 19999', 'line 20000 hundred']);
    expect(lines.at(-1)?.offset).toBe(journal.length - 'line 20000 hundred\n'.length);
    const errors = await reading.tail('long', 2, { stream: 'stderr' });
    expect(errors.map(({ text }) => text)).toEqual(['line 19990', 'line 20000 hundred']);
    const many = await reading.tail('long', 5_000);
    expect(many.map(({ text }) => text.split(' ')[1])).toEqual(
      Array.from({ length: 5_000 }, (_, index) => String(15_001 + index)),
    );
  });

  it('returns an unfinished line, and an endless line in pieces', async () => {
    const journal = journalFiles(folder).open('a');
    say(journal, 'whole\r\n');
    for (let piece = 0; piece < 300; piece += 1) say(journal, 'x'.repeat(1_000));
    say(journal, 'unfinished', 'stderr');
    const lines = await journalReading(folder).tail('a', 100);
    const lengths = lines.map(({ stream, offset, text }) => [stream, offset, text.length]);
    const cut = 64 * 1024;
    expect(lengths).toEqual([
      ['stdout', 0, 5],
      ...[0, 1, 2, 3].map((piece) => ['stdout', 7 + piece * cut, cut]),
      ['stdout', 7 + 4 * cut, 300_000 - 4 * cut],
      ['stderr', 300_007, 10],
    ]);
  });

  it('returns the last bytes', async () => {
    const journal = longJournal();
    journal.finish(exit);
    const events = await journalReading(folder).tailBytes('long', 25);
    const text = events
      .map((event) => ('bytes' in event ? Buffer.from(event.bytes).toString() : ''))
      .join('');
    expect(text).toBe('19999\nline 20000 hundred\n');
    expect(events.at(-1)).toMatchObject({ type: 'exit', exitCode: 3 });
  });
});

describe('page', () => {
  it('PROC-2: consecutive pages together are the whole record, with lost bytes reported', async () => {
    const journal = longJournal();
    journal.finish(exit);
    const reading = journalReading(folder);
    const expected = [...journal.read(0)];
    let [next, text, lost] = [0, '', 0];
    for (let isLast = false; !isLast; ) {
      const page = await reading.page('long', 10_000, { from: next });
      let length = 0;
      for (const event of page.events) {
        if (event.type === 'output-lost') lost += event.length;
        if (!('bytes' in event)) continue;
        length += event.bytes.length;
        text += Buffer.from(event.bytes).toString();
      }
      expect(length).toBeLessThanOrEqual(10_000);
      expect(page.isLast || page.next > next).toBe(true);
      ({ next, isLast } = page);
      if (isLast) expect(page.events.at(-1)).toMatchObject({ type: 'exit' });
    }
    const whole = expected
      .map((event) => ('bytes' in event ? Buffer.from(event.bytes).toString() : ''))
      .join('');
    expect(text === whole).toBe(true);
    expect(lost).toBe(journal.length - whole.length);
    expect(lost).toBeGreaterThan(0);
  });

  it('shows no part of a secret at any start and end of a page', async () => {
    const journal = journalFiles(folder).open('a');
    const text = `password ${secret} and ${secret}, ghp_${'a1'.repeat(18)}\n`.repeat(20);
    for (let at = 0; at < text.length; at += 11) say(journal, text.slice(at, at + 11));
    const reading = journalReading(folder, [secret]);
    const property = fc.asyncProperty(
      fc.nat(text.length),
      fc.integer({ min: 1, max: 200 }),
      async (from, limit) => {
        const { events, next } = await reading.page('a', limit, { from });
        expect(next).toBe(Math.min(from + limit, text.length));
        const shown = events
          .map((event) => ('bytes' in event ? Buffer.from(event.bytes).toString() : ''))
          .join('')
          .replaceAll('[redacted]', '');
        // A secret's own letters, and words that may begin inside of the page.
        expect(shown).toMatch(/^[password,n\s]*$/);
        expect(shown).not.toMatch(/hu|un|ter|2h|gh|a1|1a/);
      },
    );
    await fc.assert(property, { numRuns: 200 });
    const raw = await journalReading(folder, null).page('a', 1_000_000);
    expect(
      raw.events.map((event) => ('bytes' in event ? Buffer.from(event.bytes).toString() : '')).join(''),
    ).toBe(text);
  });
});

describe('time', () => {
  it('PROC-2: reads by time start and end within 100 ms of the requested times', async () => {
    let now = 1_000_000;
    const journal = journalFiles(folder, { keepBytes: 1024 ** 2, keepFinished: 5 }, () => now).open('a');
    journal.begin({ argv: ['clock'], startedAt: now });
    for (let second = 0; second < 60; second += 1) {
      for (let part = 0; part < 4; part += 1) {
        say(journal, `${second}.${part}\n`);
        now += 250;
      }
    }
    journal.finish(exit);
    const reading = journalReading(folder);
    const between = async (since: number, until: number) =>
      (await reading.tail('a', 1_000, { since, until })).map(({ text, at }) => `${text} at ${at}`);
    expect(await between(1_010_000, 1_010_500)).toEqual(['10.0 at 1010000', '10.1 at 1010250']);
    expect(await between(0, 1_000_001)).toEqual(['0.0 at 1000000']);
    expect(await between(1_059_750, Number.MAX_VALUE)).toEqual(['59.3 at 1059750']);
    expect(await between(1_060_200, Number.MAX_VALUE)).toEqual([]);
    const { lines } = await reading.grep('a', '.2', { since: 1_050_000, until: 1_052_000 });
    expect(lines.map(({ text }) => text)).toEqual(['50.2', '51.2']);
  });

  it('finds output that came within 100 ms of a mark, even if the clock goes back', async () => {
    let now = 50_000;
    const journal = journalFiles(folder, { keepBytes: 1024 ** 2, keepFinished: 5 }, () => now).open('a');
    for (const step of [0, 60, 60, -30_000, 60]) {
      now += step;
      say(journal, `${now}\n`);
    }
    const lines = await journalReading(folder).tail('a', 10);
    expect(lines.map(({ text, at }) => [text, at])).toEqual([
      ['50000', 50_000],
      ['50060', 50_000],
      ['50120', 50_120],
      ['20120', 20_120],
      ['20180', 20_120],
    ]);
  });
});

describe('grep', () => {
  it('PROC-2: finds lines by text and by expression, with the lines around them', async () => {
    longJournal();
    const reading = journalReading(folder);
    const all = await reading.grep('long', '9 ', { limit: 5 });
    expect(all).toEqual({ lines: [], truncated: false });
    const some = await reading.grep('long', 'HUNDRED', { ignoreCase: true, limit: 2, stream: 'stderr' });
    expect(some.lines.map(({ text }) => text)).toEqual(['line 100 hundred', 'line 200 hundred']);
    expect(some.truncated).toBe(true);
    const around = await reading.grep('long', '^line 199(49|50)$', { regex: true, before: 1, after: 2 });
    expect(around.lines.map(({ text, isMatch }) => [text, isMatch])).toEqual([
      ['line 19948', false],
      ['line 19949', true],
      ['line 19950', true],
      ['line 19951', false],
      ['line 19952', false],
    ]);
  });

  it('a hostile expression ends at its deadline or when its caller cancels, and the host continues', async () => {
    const journal = journalFiles(folder).open('a');
    say(journal, `${'a'.repeat(60_000)}!\n`);
    const reading = journalReading(folder);
    const hostile = (options: { timeoutMs?: number; signal?: AbortSignal }) =>
      reading.grep('a', '^(a+)+$', { regex: true, ...options });
    await expect(hostile({ timeoutMs: 500 })).rejects.toMatchObject({ code: 'timed_out' });
    const stop = new AbortController();
    let isOver = false;
    const searching = hostile({ timeoutMs: 150_000, signal: stop.signal }).finally(() => {
      isOver = true;
    });
    searching.catch(() => {});
    for (let turns = 0; turns < 20; turns += 1) await delay(10);
    expect(isOver).toBe(false);
    stop.abort();
    await expect(searching).rejects.toMatchObject({ code: 'cancelled' });
    await expect(reading.grep('a', '(', { regex: true })).rejects.toMatchObject({ code: 'invalid_input' });
    await expect(reading.grep('a', '')).rejects.toMatchObject({ code: 'invalid_input' });
  });

  it('searches a line of 30 MB in pieces of 64 kB', async () => {
    const journal = journalFiles(folder, { keepBytes: 64 * 1024 ** 2, keepFinished: 5 }).open('a');
    const piece = Buffer.alloc(64 * 1024, 'x');
    for (let at = 0; at < 480; at += 1) journal.append('stdout', piece, journal.length);
    say(journal, 'needle');
    const reading = journalReading(folder);
    expect((await reading.grep('a', 'needle')).lines.map(({ text }) => text)).toEqual(['needle']);
    const { lines, truncated } = await reading.grep('a', 'x', { limit: 3 });
    expect(lines.map(({ text }) => text.length)).toEqual([65_536, 65_536, 65_536]);
    expect(truncated).toBe(true);
  });

  it('searches redacted text: finds no single line of a multi-line key', async () => {
    const journal = journalFiles(folder).open('a');
    say(
      journal,
      `-----BEGIN PRIVATE KEY-----\n${'SECRETLINE\n'.repeat(40)}-----END PRIVATE KEY-----\nafter\n`,
    );
    const reading = journalReading(folder);
    expect((await reading.grep('a', 'SECRETLINE')).lines).toEqual([]);
    expect((await reading.tail('a', 5)).map(({ text }) => text)).toEqual(['[redacted]', 'after']);
    expect((await journalReading(folder, null).grep('a', 'SECRETLINE')).lines).toHaveLength(40);
  });
});

describe('a list', () => {
  it('PROC-2: lists commands with time, output size and exit, the newest first', async () => {
    const journals = journalFiles(folder, { keepBytes: 256 * 1024, keepFinished: 5 });
    const [done, running, silent] = ['done', 'running', 'silent'].map((id) => journals.open(id));
    done?.begin({ argv: ['sh', '-c', 'x'.repeat(10_000)], startedAt: 1_000 });
    if (done !== undefined) for (let at = 0; at < 100; at += 1) say(done, 'y'.repeat(10_000));
    done?.finish(exit);
    running?.begin({ argv: ['server'], startedAt: 3_000 });
    running?.append('stdout', Buffer.from('up'), 5);
    silent?.begin({ argv: ['curl', `-utom:${secret}`], startedAt: 2_000 });
    const list = journalReading(folder, [secret]).list();
    expect(list).toMatchObject([
      { processId: 'running', facts: { argv: ['server'] }, bytes: 7, exit: undefined },
      { processId: 'silent', facts: { argv: ['curl', '-utom:[redacted]'] }, bytes: 0, exit: undefined },
      { processId: 'done', facts: { startedAt: 1_000 }, bytes: 1_000_000, exit },
    ]);
    const { facts, diskBytes } = list.at(-1) ?? {};
    expect(facts?.argv.join(' ').length).toBeLessThan(5_000);
    expect(diskBytes).toBeGreaterThan(200_000);
    expect(diskBytes).toBeLessThanOrEqual(256 * 1024 + 300);
    expect(journalReading(join(folder, 'none')).list()).toEqual([]);
  });

  it('listing ignores files that are not journals, also in a host', async () => {
    mkdirSync(join(folder, 'folder.journal'));
    writeFileSync(join(folder, 'noise.journal'), Buffer.alloc(5_000, 'noise'));
    writeFileSync(join(folder, 'ended.journal'), Buffer.alloc(5_000, 'noise'));
    chmodSync(join(folder, 'ended.journal'), 0o400);
    writeFileSync(join(folder, 'empty.journal'), '');
    writeFileSync(join(folder, 'orphan.500.journal'), 'x');
    writeFileSync(join(folder, 'README'), 'x');
    const reading = journalReading(folder);
    const bytes = reading.list().map(({ processId, bytes }) => [processId, bytes]);
    expect(Object.fromEntries(bytes)).toEqual({ noise: 0, ended: 0, empty: 0 });
    for (const id of ['noise', 'ended', 'empty']) {
      expect(await reading.tail(id, 5)).toEqual([]);
      expect([...journalFiles(folder).open(id).read(0)]).toEqual([]);
    }
    for (const id of ['none', '../x', 'orphan'])
      await expect(reading.tail(id, 5)).rejects.toMatchObject({ code: 'process_not_found' });
    await expect(reading.grep('none', 'x', { regex: true })).rejects.toMatchObject({
      code: 'process_not_found',
    });
    await expect(reading.page('empty', -1)).rejects.toMatchObject({ code: 'invalid_input' });
    await expect(reading.page('empty', 1, { from: -1 })).rejects.toMatchObject({ code: 'invalid_input' });
  });
});
