import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ProcessEvent } from '../../src/core/process.ts';
import { journalFiles } from '../../src/sandboxes/journal-files.ts';

const exit = { exitCode: 0, signal: null, timedOut: false, oomKilled: false, durationMs: 1 };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'geode-journals-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a replay', () => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('append' as const),
        stderr: fc.boolean(),
        shift: fc.integer({ min: -40, max: 20 }),
        length: fc.integer({ min: 0, max: 60 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('large' as const),
        length: fc.integer({ min: 60_000, max: 140_000 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('skip' as const), shift: fc.integer({ min: -5, max: 30 }) }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  );

  it('from any offset is what was appended', () => {
    let run = 0;
    const property = fc.property(
      fc.array(step, { maxLength: 25 }),
      fc.oneof(fc.integer({ min: 0, max: 300 }), fc.constant(1024 ** 2)),
      fc.boolean(),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (steps, keepBytes, ends, place) => {
        const state = join(folder, `run${run++}`);
        const policy = { keepBytes, keepFinished: 5 };
        let journals = journalFiles(state, policy);
        let journal = journals.open('a');
        const model = new Model(keepBytes);
        for (const step of steps) {
          if (step.do === 'restart') {
            journals.close();
            journals = journalFiles(state, policy);
            journal = journals.open('a');
          } else if (step.do === 'skip') {
            journal.skip(model.length + step.shift);
            model.skip(model.length + step.shift);
          } else {
            const offset = step.do === 'large' ? model.length : Math.max(model.length + step.shift, 0);
            const kind = step.do === 'append' && step.stderr ? 'stderr' : 'stdout';
            const piece = Buffer.from(Array.from({ length: step.length }, (_, at) => (offset + at) % 251));
            journal.append(kind, piece, offset);
            model.append(kind, step.length, offset);
          }
          expect(journal.length).toBe(model.length);
        }
        if (ends) journal.finish(exit);
        const from = Math.floor(place * (model.length + 3));
        for (const source of [journal, journalFiles(state, policy).open('a')]) {
          expect(source.length).toBe(model.length);
          expect(runsIn(source.read(from))).toEqual(model.runs(from, ends));
        }
        journals.close();
      },
    );
    fc.assert(property, { numRuns: 150 });
  });
});

/** The journal as it should be: one letter for each byte. */
class Model {
  readonly #keepBytes: number;
  #kept = 0;
  #kinds = '';

  constructor(keepBytes: number) {
    this.#keepBytes = keepBytes;
  }

  get length(): number {
    return this.#kinds.length;
  }

  append(kind: 'stdout' | 'stderr', length: number, offset: number): void {
    const fresh = Math.min(length, offset + length - this.length);
    if (fresh <= 0) return;
    const kept = Math.min(fresh, this.#keepBytes - this.#kept);
    this.skip(offset);
    this.#kept += kept;
    this.#kinds += (kind === 'stdout' ? 'o' : 'e').repeat(kept) + '-'.repeat(fresh - kept);
  }

  skip(to: number): void {
    this.#kinds = this.#kinds.padEnd(to, '-');
  }

  runs(from: number, ends: boolean): string[] {
    const runs: string[] = [];
    for (const run of this.#kinds.slice(from).matchAll(/(.)\1*/g)) {
      runs.push(`${run[1]}@${from + run.index}+${run[0].length}`);
    }
    return ends ? [...runs, 'exit'] : runs;
  }
}

/** Neighbours of one kind joined, since it is not promised where they are cut; the bytes checked. */
function runsIn(events: Iterable<ProcessEvent>): string[] {
  const letters = { stdout: 'o', stderr: 'e', 'output-lost': '-' } as const;
  const runs: { kind: string; offset: number; length: number }[] = [];
  let ended = false;
  for (const event of events) {
    expect(ended).toBe(false);
    if (event.type === 'exit') {
      ended = true;
      continue;
    }
    const length = 'bytes' in event ? event.bytes.length : event.length;
    if ('bytes' in event && event.bytes.some((byte, at) => byte !== (event.offset + at) % 251)) {
      throw new Error(`Wrong bytes at ${event.offset}.`);
    }
    const last = runs.at(-1);
    const kind = letters[event.type];
    if (last?.kind === kind && last.offset + last.length === event.offset) last.length += length;
    else runs.push({ kind, offset: event.offset, length });
  }
  const lines = runs.map(({ kind, offset, length }) => `${kind}@${offset}+${length}`);
  return ended ? [...lines, 'exit'] : lines;
}
