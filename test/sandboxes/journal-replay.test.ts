import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type JournalPolicy, journalFiles } from '../../src/journals/journal-files.ts';
import type { Journal } from '../../src/seams/journal.ts';
import type { ProcessEvent } from '../../src/seams/process.ts';

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

  type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

  /** Does the steps to a journal and to the model of it. */
  const perform = (steps: readonly Step[], state: string, policy: JournalPolicy, ends: boolean) => {
    let journals = journalFiles(state, policy);
    let journal = journals.open('a');
    const model = new Model();
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
    journals.close();
    return { journal, model, reopened: journalFiles(state, policy).open('a') };
  };

  it('PROC-2: from any offset returns the appended output when nothing was dropped', () => {
    let run = 0;
    const property = fc.property(
      fc.array(step, { maxLength: 25 }),
      fc.boolean(),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (steps, ends, place) => {
        const policy = { keepBytes: 64 * 1024 ** 2, keepFinished: 5 };
        const { journal, model, reopened } = perform(steps, join(folder, `run${run++}`), policy, ends);
        const from = Math.floor(place * (model.length + 3));
        for (const source of [journal, reopened]) {
          expect(source.length).toBe(model.length);
          expect(runsIn(source.read(from))).toEqual(model.runs(from, ends));
        }
      },
    );
    fc.assert(property, { numRuns: 120 });
  });

  it('PROC-2: of a rotated journal returns its beginning and its end, with one gap between them', () => {
    let run = 0;
    const property = fc.property(
      fc.array(step, { maxLength: 60 }),
      fc.integer({ min: 8 * 130, max: 4_000 }),
      fc.boolean(),
      (steps, keepBytes, ends) => {
        const state = join(folder, `rotated${run++}`);
        const small = steps.filter((step) => step.do !== 'large');
        const { journal, model, reopened } = perform(small, state, { keepBytes, keepFinished: 5 }, ends);
        const onDisk = readdirSync(state).map((name) => statSync(join(state, name)).size);
        expect(onDisk.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(keepBytes + exitBytes);
        for (const source of [journal, reopened]) {
          expect(source.length).toBe(model.length);
          expect(source.exit).toEqual(ends ? exit : undefined);
          expect(runsIn(source.read(0))).toEqual(model.without(missing(source, model)).runs(0, ends));
        }
      },
    );
    fc.assert(property, { numRuns: 150 });
  });
});

/** The exit may stand behind a full segment. */
const exitBytes = 300;

/** The part of the appended output that a journal has lost; checks that it is one gap, not at an end. */
function missing(source: Journal, model: Model): { from: number; to: number } {
  const lost = [...source.read(0)].flatMap((event) =>
    event.type === 'output-lost' ? [{ from: event.offset, to: event.offset + event.length }] : [],
  );
  const unexpected = lost.flatMap(({ from, to }) => model.appended(from, to));
  const [from = 0, to = 0] = [unexpected[0], unexpected.at(-1)];
  if (unexpected.length === 0) return { from: 0, to: 0 };
  expect(model.appended(from, to + 1)).toEqual(unexpected);
  expect(from).toBeGreaterThan(model.appended(0, model.length)[0] ?? 0);
  expect(to).toBeLessThan(model.appended(0, model.length).at(-1) ?? 0);
  return { from, to: to + 1 };
}

/** The journal as it should be: one letter for each byte. */
class Model {
  #kinds: string;

  constructor(kinds = '') {
    this.#kinds = kinds;
  }

  get length(): number {
    return this.#kinds.length;
  }

  append(kind: 'stdout' | 'stderr', length: number, offset: number): void {
    const fresh = Math.min(length, offset + length - this.length);
    if (fresh <= 0) return;
    this.skip(offset);
    this.#kinds += (kind === 'stdout' ? 'o' : 'e').repeat(fresh);
  }

  skip(to: number): void {
    this.#kinds = this.#kinds.padEnd(to, '-');
  }

  /** The places of what was written, not skipped. */
  appended(from: number, to: number): number[] {
    return [...this.#kinds.slice(from, to)].flatMap((kind, at) => (kind === '-' ? [] : [from + at]));
  }

  without({ from, to }: { from: number; to: number }): Model {
    return new Model(this.#kinds.slice(0, from) + '-'.repeat(to - from) + this.#kinds.slice(to));
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
