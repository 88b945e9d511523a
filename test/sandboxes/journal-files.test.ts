import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { journalFiles } from '../../src/journals/journal-files.ts';
import { attachProcess } from '../../src/link/attach.ts';
import { guestCommand } from '../../src/link/command.ts';
import { headerBytes } from '../../src/link/frames.ts';
import { ProcessStream } from '../../src/link/process-stream.ts';
import type { Journal, Journals } from '../../src/seams/journal.ts';
import type { ProcessEvent } from '../../src/seams/process.ts';
import { eventually } from '../contracts/harness.ts';
import { startGuest } from '../link/guest-process.ts';

const exit = { exitCode: 0, signal: null, timedOut: false, oomKilled: false, durationMs: 1 };
const roomy = { keepBytes: 1024 ** 2, keepFinished: 100 };
const bytes = (text: string) => Buffer.from(text);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'geode-journals-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a gap', () => {
  it('keeps later bytes at their offset', () => {
    const journal = journalFiles(folder).open('a');
    journal.append('stdout', bytes('0123456789'), 0);
    journal.append('stdout', bytes('LATER'), 50);
    journal.skip(60);
    journal.skip(40);
    journal.finish(exit);
    const expected = [
      'stdout@0 0123456789',
      'output-lost@10+40',
      'stdout@50 LATER',
      'output-lost@55+5',
      'exit',
    ];
    expect(told(journal)).toEqual(expected);
    expect(told(journalFiles(folder).open('a'))).toEqual(expected);
  });
});

describe('a torn tail', () => {
  const lastFrames: readonly [string, (journal: Journal) => void][] = [
    ['output', (journal) => journal.append('stderr', bytes('second'), 5)],
    ['a count', (journal) => journal.skip(11)],
    ['the exit', (journal) => journal.finish(exit)],
  ];
  it.each(lastFrames)('drops %s that was cut off anywhere, and writes it again', (_, writeLast) => {
    const file = join(folder, 'a.journal');
    const whole = journalFiles(folder).open('a');
    whole.append('stdout', bytes('first'), 0);
    const before = statSync(file).size;
    writeLast(whole);
    const content = readFileSync(file);
    const expected = told(whole);
    expect(content.length).toBeGreaterThan(before);
    for (let cut = before; cut < content.length; cut += 1) {
      rmSync(file);
      writeFileSync(file, content.subarray(0, cut));
      const journal = journalFiles(folder).open('a');
      expect(journal).toMatchObject({ length: 5, exit: undefined });
      expect(told(journal)).toEqual(['stdout@0 first']);
      expect(statSync(file).size).toBeLessThanOrEqual(cut);
      writeLast(journal);
      expect(told(journal)).toEqual(expected);
      expect(told(journalFiles(folder).open('a'))).toEqual(expected);
    }
  });

  it.each([
    ['zeros', Buffer.alloc(100)],
    ['noise', Buffer.alloc(100, 'g')],
  ])('of %s is dropped, and later output is kept', (_, tail) => {
    journalFiles(folder).open('a').append('stdout', bytes('first'), 0);
    writeFileSync(join(folder, 'a.journal'), tail, { flag: 'a' });
    const journal = journalFiles(folder).open('a');
    journal.append('stdout', bytes('second'), 5);
    expect(told(journal)).toEqual(['stdout@0 first', 'stdout@5 second']);
  });

  it('of a journal damaged while open is reported as lost', () => {
    const journal = journalFiles(folder).open('a');
    journal.append('stdout', bytes('first'), 0);
    journal.append('stdout', bytes('second'), 5);
    journal.finish(exit);
    const file = join(folder, 'a.journal');
    const content = readFileSync(file);
    const end = content.indexOf('first') + 5;
    content.fill(0xff, end, end + headerBytes);
    chmodSync(file, 0o600);
    writeFileSync(file, content);
    expect(told(journal)).toEqual(['stdout@0 first', 'output-lost@5+6', 'exit']);
  });
});

describe('two handles on one process', () => {
  it('share one journal of a running process, written and finished once', () => {
    const journals = journalFiles(folder, { ...roomy, keepFinished: 2 });
    journals.open('older').finish(exit);
    const [first, second] = [journals.open('a'), journals.open('a')];
    for (const journal of [first, second]) {
      journal.append('stdout', bytes('once'), 0);
      journal.finish(exit);
    }
    second.append('stdout', bytes('too late'), 4);
    expect(told(journals.open('a'))).toEqual(['stdout@0 once', 'exit']);
    expect(told(journalFiles(folder).open('a'))).toEqual(['stdout@0 once', 'exit']);
    expect(journals.has('older')).toBe(true);
  });

  it('GL-7: both receive every byte once, also when the fast one lets the guest drop output', async () => {
    await using guest = await startGuest();
    const link = await guest.open();
    const journals = journalFiles(join(guest.folder, 'journals'));
    const script = 'seq 1 500000; read go; seq 1 500000; echo end';
    const command = guestCommand('twice', { argv: ['/bin/sh', '-c', script], interactive: true });
    const fast = await ProcessStream.start(link, command, journals.open('twice'));
    const slow = (await attachProcess(link, journals, 'twice', 0, {}))[Symbol.asyncIterator]();
    const late = await attachProcess(link, journals, 'twice', 7, {});
    const half = Array.from({ length: 500_000 }, (_, index) => `${index + 1}\n`).join('');
    const whole = `${half}${half}end\n`;

    const fastly = follow(fast);
    await eventually(async () => fastly.output().length === half.length, 'half of the output');
    const slowly = follow({ [Symbol.asyncIterator]: () => slow });
    await eventually(async () => slowly.output().length === half.length, 'the same half again');
    await fast.write('go\n');
    await fastly.done;
    await slowly.done;
    const lately = follow(late, 7);
    await lately.done;
    // Comparing strings of megabytes by matcher would print them.
    expect(fastly.output() === whole).toBe(true);
    expect(slowly.output() === whole).toBe(true);
    expect(lately.output() === whole.slice(7)).toBe(true);
    for (const { others } of [fastly, slowly, lately]) expect(others).toEqual(['exit']);
    expect(told(journals.open('twice')).filter((line) => line === 'exit')).toHaveLength(1);
    journals.close();
  });
});

describe('a full disk', () => {
  const root = process.getuid?.() === 0;
  it.skipIf(!root)(
    `is reported as disk_full, and the journal continues when space is free${root ? '' : ' (needs root to mount a small tmpfs)'}`,
    () => {
      const disk = join(folder, 'disk');
      mkdirSync(disk);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk]);
      const journals = journalFiles(join(disk, 'journals'));
      try {
        fillAndEmpty(disk, journals);
      } finally {
        journals.close();
        execFileSync('umount', [disk]);
      }
    },
  );

  const fillAndEmpty = (disk: string, journals: Journals) => {
    const full = expect.objectContaining({
      code: 'disk_full',
      message: expect.stringContaining('process a'),
    });
    const reopened = () => journalFiles(join(disk, 'journals')).open('a');
    const journal = journals.open('a');
    let due = Buffer.alloc(0);
    const append = (length: number) => {
      const piece = Buffer.alloc(length, 97 + (due.length % 26));
      journal.append('stdout', piece, due.length);
      due = Buffer.concat([due, piece]);
    };
    const appendUntilFull = (length: number) => {
      expect(() => {
        for (;;) append(length);
      }).toThrow(full);
      expect(journal.length).toBe(due.length);
      expect(outputOf(journal).equals(due)).toBe(true);
      expect(outputOf(reopened()).equals(due)).toBe(true);
    };
    const [rest, reserve] = [join(disk, 'rest'), join(disk, 'reserve')];
    writeFileSync(rest, Buffer.alloc(100_000));
    writeFileSync(reserve, Buffer.alloc(10_000));
    appendUntilFull(50_001);
    expect(due.length).toBeGreaterThan(0);
    rmSync(rest);
    appendUntilFull(50_001);
    expect(due.length).toBeGreaterThan(100_002);
    appendUntilFull(1_000);
    appendUntilFull(7);
    expect(() => journal.finish(exit)).toThrow(full);
    expect(reopened().exit).toBeUndefined();
    rmSync(reserve);
    append(7);
    journal.finish(exit);
    expect(outputOf(reopened()).equals(due)).toBe(true);
    expect(reopened()).toMatchObject({ length: due.length, exit });
  };
  const outputOf = (journal: Journal) =>
    Buffer.concat([...journal.read(0)].map((event) => ('bytes' in event ? event.bytes : bytes(''))));
});

describe('pruning', () => {
  it('removes the oldest finished journals and never a running one, also after a restart', () => {
    const policy = { ...roomy, keepFinished: 2 };
    const before = journalFiles(folder, policy);
    for (const id of ['aa', 'zz']) before.open(id).append('stdout', bytes('runs'), 0);
    for (const [index, id] of ['mm', 'kk'].entries()) {
      before.open(id).finish(exit);
      utimesSync(join(folder, `${id}.journal`), 1_000 + index, 1_000 + index);
    }
    const journals = journalFiles(folder, policy);
    journals.open('new').finish(exit);
    expect(names()).toEqual(['aa', 'kk', 'new', 'zz']);
    journals.open('aa').finish(exit);
    expect(names()).toEqual(['aa', 'new', 'zz']);
    expect(told(journals.open('zz'))).toEqual(['stdout@0 runs']);
  });

  it('treats a journal with an exit as finished although a dying host did not mark it', () => {
    const policy = { ...roomy, keepFinished: 1 };
    journalFiles(folder, policy).open('a').finish(exit);
    chmodSync(join(folder, 'a.journal'), 0o600);
    const journals = journalFiles(folder, policy);
    expect(journals.open('a').exit).toEqual(exit);
    journals.open('b').finish(exit);
    expect(names()).toEqual(['b']);
  });

  it('an open handle still returns the exit after pruning', () => {
    const journals = journalFiles(folder, { ...roomy, keepFinished: 1 });
    const journal = journals.open('a');
    journal.append('stdout', bytes('gone'), 0);
    journal.finish(exit);
    journals.open('b').finish(exit);
    expect(told(journal)).toEqual(['output-lost@0+4', 'exit']);
  });

  const names = () =>
    readdirSync(folder)
      .map((name) => name.replace('.journal', ''))
      .sort();
});

describe('descriptors', () => {
  it('are few while many processes run, and none after the exit or the closing', () => {
    const journals = journalFiles(folder);
    const all = Array.from({ length: 100 }, (_, index) => journals.open(`p${index}`));
    for (let at = 0; at < 3; at += 1) for (const journal of all) journal.append('stdout', bytes('x'), at);
    expect(descriptors()).toBeGreaterThan(0);
    expect(descriptors()).toBeLessThanOrEqual(16);
    for (const journal of all.slice(50)) journal.finish(exit);
    for (const journal of all.slice(50)) expect(told(journal)).toHaveLength(4);
    const reading = all[0]?.read(0);
    reading?.next();
    reading?.return(undefined);
    journals.close();
    journals.close();
    expect(descriptors()).toBe(0);
    expect(() => all[0]?.append('stdout', bytes('x'), 3)).toThrow(
      expect.objectContaining({ code: 'sandbox_gone' }),
    );
    expect(told(journals.open('p0'))).toEqual(['stdout@0 x', 'stdout@1 x', 'stdout@2 x']);
    expect(descriptors()).toBe(0);
  });

  const descriptors = () =>
    readdirSync('/proc/self/fd').filter((name) => {
      try {
        return readlinkSync(join('/proc/self/fd', name)).startsWith(folder);
      } catch {
        return false;
      }
    }).length;
});

function told(journal: Journal, from = 0): string[] {
  return [...journal.read(from)].map((event) => {
    if (event.type === 'exit') return 'exit';
    if (event.type === 'output-lost') return `output-lost@${event.offset}+${event.length}`;
    return `${event.type}@${event.offset} ${Buffer.from(event.bytes).toString()}`;
  });
}

function follow(process: AsyncIterable<ProcessEvent>, from = 0) {
  let output = '';
  const others: string[] = [];
  const read = async () => {
    for await (const event of process) {
      if ('bytes' in event) {
        const due = from + output.length;
        if (event.offset !== due) others.push(`offset ${event.offset} where ${due} is due`);
        output += Buffer.from(event.bytes).toString();
      } else others.push(event.type);
    }
  };
  return { done: read(), output: () => output, others };
}
