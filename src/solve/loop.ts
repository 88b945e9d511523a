import { throwIfCancelled } from '../base/cancel.ts';
import type { Runs } from '../runs/index.ts';
import type { EventSink } from '../seams/events.ts';
import type { Memory } from '../seams/memory.ts';
import type { Models } from '../seams/model.ts';
import type { Attempt, SolveEvent, SolveOutcome, SolveRequest, SolveResult } from '../seams/solve.ts';
import { AttemptLog } from './attempt-log.ts';
import { Author } from './author.ts';
import type { Crystal } from './crystal.ts';
import type { Crystals } from './crystals.ts';
import { Hints } from './hints.ts';
import type { RecallBlock } from './recall-block.ts';
import { similarity } from './similarity.ts';
import type { SolveTable } from './solve-table.ts';
import { Trial } from './trial.ts';

export interface LoopParts {
  readonly runs: Runs;
  readonly models: Models;
  readonly memory: Memory;
  readonly crystals: Crystals;
  readonly table: SolveTable;
  readonly events: EventSink;
  readonly user: string;
  /** Maximum tokens of recalled text in a prompt. */
  readonly recallTokens: number;
}

const usualAttempts = 3;
const triedCrystals = 2;
/** Minimum share of common words for two problems to count as similar. */
const sameKind = 0.5;

/** One solve, from the recall to the result. Finished steps in `attempts` are not repeated. */
export class Loop {
  readonly #shop: LoopParts;
  readonly #request: SolveRequest;
  readonly #id: string;
  readonly #signal: AbortSignal | undefined;
  readonly #log: AttemptLog;
  readonly #author: Author;
  readonly #trial: Trial;
  readonly #hints: Hints;
  readonly #most: number;
  /** Hints in the last prompt. */
  #shown: RecallBlock | null = null;

  constructor(
    shop: LoopParts,
    id: string,
    request: SolveRequest,
    attempts: readonly Attempt[],
    signal: AbortSignal | undefined,
  ) {
    const { crystals, memory, recallTokens } = shop;
    this.#shop = shop;
    this.#id = id;
    this.#request = request;
    this.#signal = signal;
    this.#most = request.attempts ?? usualAttempts;
    this.#log = new AttemptLog({ ...shop, solve: id, most: this.#most }, attempts);
    this.#author = new Author(shop, request, this.#log, { signal });
    this.#trial = new Trial({ ...shop, log: this.#log, author: this.#author }, request, { signal });
    this.#hints = new Hints(crystals, memory, recallTokens);
  }

  async *run(): AsyncGenerator<SolveEvent> {
    yield { type: 'solve-start', id: this.#id };
    const result = yield* this.#solve();
    this.#shop.table.end(result);
    yield { type: 'result', ...result };
  }

  async *#solve(): AsyncGenerator<SolveEvent, SolveResult> {
    yield* this.#hints.recall(this.#request.problem, { signal: this.#signal });
    const answered = yield* this.#tryCrystals();
    if (answered !== undefined) return answered;
    for (;;) {
      throwIfCancelled(this.#signal, 'The solve');
      const current = this.#log.next();
      if (current === undefined) return this.#end('failed', `None of ${this.#most} attempts passed.`);
      if (this.#overBudget()) return this.#end('budget-spent', 'The budget for this problem is spent.');
      const done = yield* this.#attempt(current);
      if (typeof done === 'string') return this.#end('needs-person', done);
      await this.#hints.note(this.#shown?.keys ?? [], done.state === 'passed' ? 'helped' : 'hurt');
      if (done.state === 'passed') return yield* this.#succeed(done);
      const again = this.#log.repeated(done);
      if (again !== undefined) return this.#end('needs-person', again);
      if (done.run?.signature) yield* this.#hints.recall(done.run.signature, { signal: this.#signal });
    }
  }

  /** A crystal answers only if it passes the current problem's own checks; otherwise it is a hint. */
  async *#tryCrystals(): AsyncGenerator<SolveEvent, SolveResult | undefined> {
    const { tests, expect } = this.#request;
    if ((tests === undefined && expect === undefined) || this.#log.all.length > 0) return undefined;
    for (const crystal of await this.#candidates()) {
      const begun = this.#log.save({
        ...this.#log.begin('crystal'),
        language: crystal.language,
        code: crystal.solution,
        files: crystal.files,
        dependencies: crystal.dependencies,
      });
      yield { type: 'attempt-start', attempt: begun.number, origin: 'crystal' };
      yield { type: 'code', attempt: begun.number, language: crystal.language, code: crystal.solution };
      const done = yield* this.#trial.check(begun);
      const { key } = crystal;
      if (done.state === 'passed') {
        await this.#shop.crystals.confirm(crystal);
        yield { type: 'crystal', key, change: 'confirmed' };
        return this.#end('solved', 'An earlier solution passed the checks.', done, key);
      }
      // Failing at an unrelated problem says nothing about it.
      if (similarity(crystal.problem, this.#request.problem) < sameKind) continue;
      await this.#shop.crystals.doubt(crystal, done.verdict?.reason ?? '');
      yield { type: 'crystal', key, change: 'doubted' };
    }
    return undefined;
  }

  /** The crystal of exactly this problem comes first, even if it has faded: passing restores it. */
  async #candidates(): Promise<readonly Crystal[]> {
    const { problem, language, egress } = this.#request;
    const own = language === undefined ? undefined : await this.#shop.crystals.ofProblem(problem, language);
    const others = this.#hints.crystals.filter(({ key }) => key !== own?.key);
    return [...(own === undefined ? [] : [own]), ...others]
      .filter((each) => language === undefined || each.language === language)
      .filter(({ dependencies }) => dependencies.length === 0 || egress !== undefined)
      .slice(0, triedCrystals);
  }

  /** Returns the attempt when it is finished, or the model's question to a person. */
  async *#attempt(begun: Attempt): AsyncGenerator<SolveEvent, Attempt | string> {
    yield { type: 'attempt-start', attempt: begun.number, origin: 'model' };
    const written = begun.code === null ? yield* this.#write(begun) : begun;
    if (typeof written === 'string') return written;
    const checked = written.verdict === null ? yield* this.#trial.check(written) : written;
    if (checked.state === 'passed' || this.#log.isLast(checked)) return checked;
    return yield* this.#author.reflect(checked);
  }

  #write(begun: Attempt): AsyncGenerator<SolveEvent, Attempt | string> {
    const block = this.#hints.block();
    this.#shown = block;
    return this.#author.write(begun, block.text);
  }

  async *#succeed(attempt: Attempt): AsyncGenerator<SolveEvent, SolveResult> {
    if (attempt.verdict?.label !== 'verified')
      return this.#end('unverified', attempt.verdict?.reason ?? '', attempt);
    const { crystals } = this.#shop;
    for (const shown of this.#shown?.crystals ?? []) await crystals.helped(shown);
    const failed = this.#log.all.filter(({ state }) => state === 'failed');
    const { key, change } = await crystals.keep(this.#request, this.#id, attempt, failed);
    yield { type: 'crystal', key, change };
    return this.#end('solved', attempt.verdict.reason, attempt, key);
  }

  #overBudget(): boolean {
    const { budget } = this.#request;
    return budget !== null && budget !== undefined && this.#log.spent().cost >= budget;
  }

  #end(outcome: SolveOutcome, reason: string, passed?: Attempt, crystal: string | null = null): SolveResult {
    const shown = passed ?? this.#log.all.at(-1);
    return {
      id: this.#id,
      outcome,
      reason,
      code: shown?.code ?? null,
      language: shown?.language ?? null,
      files: shown?.files ?? {},
      verdict: shown?.verdict ?? null,
      attempts: this.#log.all.length,
      ...this.#log.spent(),
      crystal,
    };
  }
}
