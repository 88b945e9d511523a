import { mkdtempSync, readdirSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { journalFiles } from '../../src/journals/journal-files.ts';
import type { ProcessEvent } from '../../src/seams/process.ts';
import { eventually } from '../contracts/harness.ts';

const exit = { exitCode: 0, signal: null, timedOut: false, oomKilled: false, durationMs: 1 };
const bytes = (text: string) => Buffer.from(text);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'geode-journals-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a follower', () => {
  it('PROC-2: yields the record, then new output, from its own offset to the exit', async () => {
    const journal = journalFiles(folder).open('a');
    journal.append('stdout', bytes('before '), 0);
    const all = gather(journal.follow(0));
    const later = gather(journal.follow(9));
    await eventually(async () => all.text() === 'before ', 'what is on record');
    journal.append('stderr', bytes('after '), 7);
    await eventually(async () => all.text() === 'before after ', 'what is appended');
    journal.append('stdout', bytes('the gap'), 20);
    journal.skip(30);
    journal.finish(exit);
    await Promise.all([all.done, later.done]);
    expect(all.others).toEqual(['lost@13+7', 'lost@27+3', 'exit']);
    expect(later.text()).toBe('ter the gap');
    expect(await gather(journal.follow(0)).whole()).toBe('before after the gap');
  });

  it('wakes when the loop of another reader appends a piece', async () => {
    const journal = journalFiles(folder).open('a');
    const other = gather(journal.follow(0));
    journal.append('stdout', bytes('0'), 0);
    for await (const event of journal.follow(0)) {
      if (!('bytes' in event)) continue;
      if (event.offset === 100) journal.finish(exit);
      else journal.append('stdout', bytes('x'), event.offset + 1);
    }
    await other.done;
    expect(other.text()).toHaveLength(101);
  });

  it('ends with cancelled on its signal, in the middle of a wait too', async () => {
    const journal = journalFiles(folder).open('a');
    const stop = new AbortController();
    const follower = gather(journal.follow(0, { signal: stop.signal }));
    await nextTurn();
    stop.abort();
    await expect(follower.done).rejects.toMatchObject({ code: 'cancelled' });
    const late = gather(journal.follow(0, { signal: AbortSignal.abort() }));
    await expect(late.done).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('ends with sandbox_gone after all recorded output when the journals are closed', async () => {
    const journals = journalFiles(folder);
    const journal = journals.open('a');
    journal.append('stdout', bytes('one '), 0);
    const waiting = gather(journal.follow(0));
    await eventually(async () => waiting.text() === 'one ', 'the first piece');
    journal.append('stdout', bytes('two'), 4);
    journals.close();
    const late = gather(journal.follow(0));
    for (const follower of [waiting, late]) {
      await expect(follower.done).rejects.toMatchObject({ code: 'sandbox_gone' });
      expect(follower.text()).toBe('one two');
    }
  });
});

describe('a reader that falls behind', () => {
  const total = 100 * 1024 ** 2;
  const pieceBytes = 64 * 1024;
  const keepBytes = 4 * 1024 ** 2;
  /** Every byte tells where it belongs. */
  const pattern = Buffer.from(Array.from({ length: pieceBytes + 251 }, (_, at) => at % 251));
  const piece = (offset: number) => pattern.subarray(offset % 251, (offset % 251) + pieceBytes);

  it('PROC-2: gives fast and slow followers correct bytes, reports lost ones, and keeps its size limit', async () => {
    const journal = journalFiles(folder, { keepBytes, keepFinished: 5 }).open('a');
    const followers = [1, 4, 64, 400].map((pause) => checkedFollower(journal.follow(0), pause));
    let largest = 0;
    for (let offset = 0; offset < total; offset += pieceBytes) {
      journal.append('stdout', piece(offset), offset);
      if ((offset / pieceBytes) % 4 === 0) await nextTurn();
      if ((offset / pieceBytes) % 64 === 0) largest = Math.max(largest, bytesOnDisk());
    }
    expect(descriptors()).toBeLessThanOrEqual(1);
    journal.finish(exit);
    const heard = await Promise.all(followers);
    for (const { told, lost } of heard) expect(told + lost).toBe(total);
    expect(heard[0]?.lost).toBe(0);
    expect(heard.at(-1)?.lost).toBeGreaterThan(0);
    expect(largest).toBeLessThanOrEqual(keepBytes);
    const again = await checkedFollower(journal.follow(0), 1);
    expect(again.told).toBeGreaterThan(keepBytes * 0.8);
    expect(again.lost).toBe(total - again.told);
    expect(descriptors()).toBe(0);
  });

  it('reports the lost bytes to a reader whose segment is dropped', () => {
    const journal = journalFiles(folder, { keepBytes, keepFinished: 5 }).open('a');
    const append = (count: number) => {
      for (let left = count; left > 0; left -= 1)
        journal.append('stdout', piece(journal.length), journal.length);
    };
    append(16);
    const started = journal.length;
    const reading = journal.read(0);
    let heard = 0;
    for (let at = 0; at < 9; at += 1) heard += lengthOf(reading.next().value);
    append(400);
    const rest = [...reading];
    expect(rest.at(-1)).toMatchObject({ type: 'output-lost' });
    expect(rest.reduce((sum, event) => sum + lengthOf(event), heard)).toBe(started);
  });

  const lengthOf = (event: ProcessEvent | undefined): number => {
    if (event === undefined || event.type === 'exit') return 0;
    return event.type === 'output-lost' ? event.length : event.bytes.length;
  };

  /** Checks each byte; waits a turn of the event loop after each event, or several. */
  async function checkedFollower(events: AsyncIterable<ProcessEvent>, pause: number) {
    const heard = { told: 0, lost: 0 };
    let next = 0;
    for await (const event of events) {
      if (event.type === 'exit') return heard;
      if (event.offset !== next) throw new Error(`Offset ${event.offset} where ${next} is due.`);
      next += lengthOf(event);
      if (event.type === 'output-lost') heard.lost += event.length;
      else {
        const due = piece(event.offset).subarray(0, event.bytes.length);
        if (!due.equals(event.bytes)) throw new Error(`Wrong bytes at ${event.offset}.`);
        heard.told += event.bytes.length;
      }
      for (let turn = 1; turn < pause; turn += 1) await nextTurn();
    }
    throw new Error('No exit.');
  }

  const bytesOnDisk = () =>
    readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  const descriptors = () =>
    readdirSync('/proc/self/fd').filter((name) => {
      try {
        return readlinkSync(join('/proc/self/fd', name)).startsWith(folder);
      } catch {
        return false;
      }
    }).length;
});

function gather(events: AsyncIterable<ProcessEvent>) {
  let text = '';
  const others: string[] = [];
  const read = async () => {
    for await (const event of events) {
      if ('bytes' in event) text += Buffer.from(event.bytes).toString();
      else if (event.type === 'exit') others.push('exit');
      else others.push(`lost@${event.offset}+${event.length}`);
    }
  };
  const done = read();
  done.catch(() => {});
  return { done, others, text: () => text, whole: () => done.then(() => text) };
}
