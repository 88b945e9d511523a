import { throwIfCancelled } from '../core/cancel.ts';
import { isGeodeError, reasonOf } from '../core/errors.ts';
import type { Memory } from '../core/memory.ts';
import type { Models } from '../core/model.ts';
import { noUsage } from '../core/prices.ts';
import type { Attempt, SolveEvent, SolveOutcome, SolveRequest, SolveResult } from '../core/solve.ts';
import type { Runs } from '../runs/index.ts';
import { addSpent, askFor, judgementShape, reflectionShape, type Spent, solutionShape } from './answers.ts';
import { type Crystal, Crystals } from './crystal.ts';
import { judgePrompt, reflectionPrompt, solutionPrompt } from './prompts.ts';
import { newAttempt, type SolveTable } from './solve-table.ts';
import { verify } from './verify.ts';

export interface Workshop {
  readonly runs: Runs;
  readonly models: Models;
  readonly memory: Memory;
  readonly table: SolveTable;
  readonly user: string;
}

const usualAttempts = 3;
const triedCrystals = 2;

/** One solve, from the recall to the result. What is already in `attempts` is not asked or run again. */
export class Loop {
  readonly #shop: Workshop;
  readonly #crystals: Crystals;
  readonly #request: SolveRequest;
  readonly #id: string;
  readonly #signal: AbortSignal | undefined;
  readonly #attempts: Attempt[];
  #hints: { crystals: readonly Crystal[]; entries: readonly string[] } = { crystals: [], entries: [] };

  constructor(
    shop: Workshop,
    id: string,
    request: SolveRequest,
    attempts: readonly Attempt[],
    signal: AbortSignal | undefined,
  ) {
    this.#shop = shop;
    this.#crystals = new Crystals(shop.memory);
    this.#id = id;
    this.#request = request;
    this.#attempts = [...attempts];
    this.#signal = signal;
  }

  async *run(): AsyncGenerator<SolveEvent> {
    yield { type: 'solve-start', id: this.#id };
    const result = yield* this.#solve();
    this.#shop.table.end(result);
    yield { type: 'result', ...result };
  }

  async *#solve(): AsyncGenerator<SolveEvent, SolveResult> {
    yield* this.#recall(this.#request.problem);
    const answered = yield* this.#tryCrystals();
    if (answered !== undefined) return answered;
    const most = this.#request.attempts ?? usualAttempts;
    for (;;) {
      throwIfCancelled(this.#signal, 'The solve');
      const current = this.#unfinished() ?? this.#begin(most);
      if (current === undefined) return this.#end('failed', `None of ${most} attempts passed.`);
      if (this.#overBudget()) return this.#end('budget-spent', 'The budget for this problem is spent.');
      const done = yield* this.#attempt(current);
      if (typeof done === 'string') return this.#end('needs-person', done);
      if (done.state === 'passed') return yield* this.#succeed(done);
      const again = this.#repeats(done);
      if (again !== undefined) return this.#end('needs-person', again);
      if (done.run?.signature) yield* this.#recall(done.run.signature);
    }
  }

  /** By the problem and, after a failure, by its error. What memory cannot answer now is done without. */
  async *#recall(text: string): AsyncGenerator<SolveEvent> {
    try {
      const crystals = await this.#crystals.recall(text, 3);
      const { results } = await this.#shop.memory.recall({ text: text.slice(0, 8_000), limit: 5 });
      const entries = results.map(({ entry }) => entry).filter(({ key }) => !key.startsWith('crystallized:'));
      const known = new Set(this.#hints.crystals.map(({ key }) => key));
      this.#hints = {
        crystals: [...this.#hints.crystals, ...crystals.filter(({ key }) => !known.has(key))].slice(-4),
        entries: entries.map(({ content }) => content),
      };
      yield {
        type: 'recalled',
        crystals: crystals.map(({ key, problem }) => ({ key, problem })),
        entries: entries.map(({ key }) => ({ key })),
      };
    } catch (thrown) {
      if (!isGeodeError(thrown, 'memory_down')) throw thrown;
      yield { type: 'recalled', crystals: [], entries: [] };
    }
  }

  /** A crystal answers only when it passes the present problem's own checks; otherwise it is a hint. */
  async *#tryCrystals(): AsyncGenerator<SolveEvent, SolveResult | undefined> {
    const { tests, expect, language } = this.#request;
    if ((tests === undefined && expect === undefined) || this.#attempts.length > 0) return undefined;
    const fitting = this.#hints.crystals.filter(
      (each) => language === undefined || each.language === language,
    );
    for (const crystal of fitting.slice(0, triedCrystals)) {
      const begun = this.#save({
        ...newAttempt(this.#attempts.length + 1, 'crystal'),
        language: crystal.language,
        code: crystal.solution,
        files: crystal.files,
      });
      yield { type: 'attempt-start', attempt: begun.number, origin: 'crystal' };
      yield { type: 'code', attempt: begun.number, language: crystal.language, code: crystal.solution };
      const done = yield* this.#check(begun);
      const passed = done.state === 'passed';
      await (passed
        ? this.#crystals.confirm(crystal)
        : this.#crystals.doubt(crystal, done.verdict?.reason ?? ''));
      yield { type: 'crystal', key: crystal.key, change: passed ? 'confirmed' : 'doubted' };
      if (passed) return this.#end('solved', 'An earlier solution passed the checks.', done, crystal.key);
    }
    return undefined;
  }

  /** An attempt that an earlier host left, if there is one. */
  #unfinished(): Attempt | undefined {
    const last = this.#attempts.at(-1);
    if (last === undefined || last.origin === 'crystal') return undefined;
    const open = last.state === 'running' || last.state === 'interrupted';
    const unreflected = last.state === 'failed' && last.reflection === null && !this.#isLast(last);
    return open || unreflected ? last : undefined;
  }

  #begin(most: number): Attempt | undefined {
    const tried = this.#attempts.filter(({ origin }) => origin === 'model').length;
    return tried >= most ? undefined : this.#save(newAttempt(this.#attempts.length + 1, 'model'));
  }

  /** Returns the attempt when it is through, or what the model needs from a person. */
  async *#attempt(begun: Attempt): AsyncGenerator<SolveEvent, Attempt | string> {
    yield { type: 'attempt-start', attempt: begun.number, origin: 'model' };
    const written = begun.code === null ? yield* this.#write(begun) : begun;
    if (typeof written === 'string') return written;
    const checked = written.verdict === null ? yield* this.#check(written) : written;
    if (checked.state === 'passed' || this.#isLast(checked)) return checked;
    return yield* this.#reflect(checked);
  }

  async *#write(begun: Attempt): AsyncGenerator<SolveEvent, Attempt | string> {
    const { instructions, text } = solutionPrompt(this.#request, this.#hints, this.#attempts.slice(0, -1));
    let spent: Spent = begun;
    const asking = askFor(
      this.#shop.models.get(this.#request.model),
      {
        user: this.#shop.user,
        instructions,
        messages: [{ role: 'user', text }],
        shape: solutionShape,
      },
      {
        signal: this.#signal,
        onSpent: (more) => {
          spent = addSpent(spent, more);
          this.#save({ ...begun, usage: spent.usage, cost: spent.cost });
        },
      },
    );
    try {
      let step = await asking.next();
      for (; !step.done; step = await asking.next()) {
        yield { type: 'code-delta', attempt: begun.number, text: step.value };
      }
      const { code, language, files, checks, needs } = step.value;
      const attempt = this.#save({
        ...begun,
        usage: spent.usage,
        cost: spent.cost,
        language: this.#request.language ?? language.toLowerCase(),
        code,
        files: Object.fromEntries(files.map(({ path, content }) => [path, content])),
        checks: checks.trim() === '' ? null : checks,
      });
      if (code.trim() === '') {
        this.#save({ ...attempt, state: 'failed', endedAt: new Date() });
        return needs.trim() || 'The model gave no code.';
      }
      yield { type: 'code', attempt: begun.number, language: attempt.language ?? '', code };
      return attempt;
    } catch (thrown) {
      if (!isGeodeError(thrown, 'answer_unusable')) throw thrown;
      return this.#failed({ ...begun, ...spent, code: '' }, thrown.message);
    }
  }

  async *#check(attempt: Attempt): AsyncGenerator<SolveEvent, Attempt> {
    const { number, code, language, files, checks } = attempt;
    const { tests, expect, judge } = this.#request;
    const candidate = {
      code: code ?? '',
      language: language ?? '',
      files: { ...this.#request.files, ...files },
      tests,
      expect,
      checks,
    };
    try {
      const checking = verify(this.#shop.runs, this.#shop.user, candidate, { signal: this.#signal });
      let step = await checking.next();
      for (; !step.done; step = await checking.next())
        yield { type: 'run-output', attempt: number, ...step.value };
      const { run, verdict } = step.value;
      const ran = this.#save({ ...attempt, run });
      const judged =
        judge && verdict.label === 'unverified' ? await this.#judge({ ...ran, verdict }) : verdict;
      const state = judged.label === 'failed' ? 'failed' : 'passed';
      yield { type: 'verdict', attempt: number, verdict: judged };
      return this.#save({ ...this.#current(ran), verdict: judged, state, endedAt: new Date() });
    } catch (thrown) {
      // Code, a language or files that cannot be run, and a sandbox that dies, fail the attempt and not the solve.
      if (!isGeodeError(thrown) || thrown.code === 'cancelled' || thrown.code === 'runtime_unavailable')
        throw thrown;
      const failed = this.#failed(attempt, `It could not be run: ${thrown.message}`);
      if (failed.verdict !== null) yield { type: 'verdict', attempt: number, verdict: failed.verdict };
      return failed;
    }
  }

  async #judge(attempt: Attempt): Promise<NonNullable<Attempt['verdict']>> {
    const { passed, reason } = await this.#askCheap(
      attempt,
      judgePrompt(this.#request, attempt),
      judgementShape,
    );
    return { label: passed ? 'verified' : 'failed', by: 'judge', reason };
  }

  async *#reflect(attempt: Attempt): AsyncGenerator<SolveEvent, Attempt> {
    const prompt = reflectionPrompt(this.#request, attempt);
    const reflection = await this.#askCheap(attempt, prompt, reflectionShape).catch((thrown: unknown) => {
      if (!isGeodeError(thrown, 'answer_unusable')) throw thrown;
      return { analysis: reasonOf(thrown), cause: attempt.verdict?.reason ?? '', change: 'Try another way.' };
    });
    yield { type: 'reflection', attempt: attempt.number, reflection };
    return this.#save({ ...this.#current(attempt), reflection });
  }

  async #askCheap<T>(
    attempt: Attempt,
    { instructions, text }: { readonly instructions: string; readonly text: string },
    shape: Parameters<typeof askFor<T>>[1]['shape'],
  ): Promise<T> {
    const model = this.#shop.models.get('cheap');
    const request = {
      user: this.#shop.user,
      instructions,
      messages: [{ role: 'user' as const, text }],
      shape,
    };
    let spent: Spent = attempt;
    const asking = askFor(model, request, {
      signal: this.#signal,
      onSpent: (more) => {
        spent = addSpent(spent, more);
        this.#save({ ...this.#current(attempt), usage: spent.usage, cost: spent.cost });
      },
    });
    let step = await asking.next();
    while (!step.done) step = await asking.next();
    return step.value;
  }

  async *#succeed(attempt: Attempt): AsyncGenerator<SolveEvent, SolveResult> {
    if (attempt.verdict?.label !== 'verified') {
      return this.#end('unverified', attempt.verdict?.reason ?? '', attempt);
    }
    const failed = this.#attempts.filter(({ state }) => state === 'failed');
    const { key, change } = await this.#crystals.keep(this.#request, this.#id, attempt, failed);
    yield { type: 'crystal', key, change };
    return this.#end('solved', attempt.verdict.reason, attempt, key);
  }

  #failed(attempt: Attempt, reason: string): Attempt {
    const by = this.#request.tests === undefined ? 'exit-code' : 'tests';
    const verdict = { label: 'failed', by, reason } as const;
    return this.#save({ ...attempt, state: 'failed', verdict, endedAt: new Date() });
  }

  /** The same error from nearly the same code, twice in a row: a third time would be money for nothing. */
  #repeats(attempt: Attempt): string | undefined {
    const before = this.#attempts.filter(({ origin }) => origin === 'model').at(-2);
    const signature = attempt.run?.signature;
    if (before === undefined || !signature || before.run?.signature !== signature) return undefined;
    if (likeness(before.code ?? '', attempt.code ?? '') < 0.8) return undefined;
    return `Two attempts in a row ended with the same error: ${signature}`;
  }

  #isLast(attempt: Attempt): boolean {
    const tried = this.#attempts.filter(({ origin }) => origin === 'model').length;
    return attempt.state === 'failed' && tried >= (this.#request.attempts ?? usualAttempts);
  }

  #overBudget(): boolean {
    const { budget } = this.#request;
    return budget !== null && budget !== undefined && this.#spent().cost >= budget;
  }

  #spent(): Spent {
    return this.#attempts.reduce<Spent>(addSpent, { usage: noUsage, cost: 0 });
  }

  #current(attempt: Attempt): Attempt {
    return this.#attempts[attempt.number - 1] ?? attempt;
  }

  #save(attempt: Attempt): Attempt {
    this.#attempts[attempt.number - 1] = attempt;
    this.#shop.table.saveAttempt(this.#id, attempt);
    return attempt;
  }

  #end(outcome: SolveOutcome, reason: string, passed?: Attempt, crystal: string | null = null): SolveResult {
    const shown = passed ?? this.#attempts.at(-1);
    return {
      id: this.#id,
      outcome,
      reason,
      code: shown?.code ?? null,
      language: shown?.language ?? null,
      files: shown?.files ?? {},
      verdict: shown?.verdict ?? null,
      attempts: this.#attempts.length,
      ...this.#spent(),
      crystal,
    };
  }
}

/** The share of words that two programs have in common, 0 to 1. */
function likeness(a: string, b: string): number {
  const [wordsA, wordsB] = [new Set(a.match(/\w+/g)), new Set(b.match(/\w+/g))];
  const common = [...wordsA].filter((word) => wordsB.has(word)).length;
  const all = new Set([...wordsA, ...wordsB]).size;
  return all === 0 ? 1 : common / all;
}
