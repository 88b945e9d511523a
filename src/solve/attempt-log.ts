import { noUsage } from '../base/prices.ts';
import type { EventSink } from '../seams/events.ts';
import type { Attempt } from '../seams/solve.ts';
import { type AnswerCost, addSpent } from './answers.ts';
import { similarity } from './similarity.ts';
import { newAttempt, type SolveTable } from './solve-table.ts';

interface LogOptions {
  readonly table: SolveTable;
  readonly events: EventSink;
  readonly user: string;
  readonly solve: string;
  /** Maximum attempts by models. */
  readonly most: number;
}

/** The attempts of one solve. Each change is stored in the ledger before the next step. */
export class AttemptLog {
  readonly #options: LogOptions;
  readonly #attempts: Attempt[];

  /** `earlier`: the attempts that an ended host left. */
  constructor(options: LogOptions, earlier: readonly Attempt[]) {
    this.#options = options;
    this.#attempts = [...earlier];
  }

  get all(): readonly Attempt[] {
    return this.#attempts;
  }

  save(attempt: Attempt): Attempt {
    const { table, events, user, solve } = this.#options;
    const before = this.#attempts[attempt.number - 1]?.state;
    this.#attempts[attempt.number - 1] = attempt;
    table.saveAttempt(solve, attempt);
    const { number, state } = attempt;
    const ended = state === 'passed' || state === 'failed';
    if (ended && before !== state) events.emit(user, { type: 'attempt-end', solve, attempt: number, state });
    return attempt;
  }

  begin(origin: Attempt['origin']): Attempt {
    return this.save(newAttempt(this.#attempts.length + 1, origin));
  }

  /** The attempt that an earlier host left, or a new one; undefined if the maximum is reached. */
  next(): Attempt | undefined {
    return (
      this.#unfinished() ?? (this.#byModel.length < this.#options.most ? this.begin('model') : undefined)
    );
  }

  /** The stored form of an attempt; its cost may have grown since. */
  current(attempt: Attempt): Attempt {
    return this.#attempts[attempt.number - 1] ?? attempt;
  }

  spent(): AnswerCost {
    return this.#attempts.reduce<AnswerCost>(addSpent, { usage: noUsage, cost: 0 });
  }

  /** It failed and no other one follows. */
  isLast({ state }: Attempt): boolean {
    return state === 'failed' && this.#byModel.length >= this.#options.most;
  }

  /** The same error from nearly the same code twice in a row: a third attempt would waste money. */
  repeated({ run, code }: Attempt): string | undefined {
    const before = this.#byModel.at(-2);
    const signature = run?.signature;
    if (before === undefined || !signature || before.run?.signature !== signature) return undefined;
    if (similarity(before.code ?? '', code ?? '') < 0.8) return undefined;
    return `Two attempts in a row ended with the same error: ${signature}`;
  }

  get #byModel(): readonly Attempt[] {
    return this.#attempts.filter(({ origin }) => origin === 'model');
  }

  #unfinished(): Attempt | undefined {
    const last = this.#attempts.at(-1);
    if (last === undefined || last.origin === 'crystal') return undefined;
    const open = last.state === 'running' || last.state === 'interrupted';
    const unreflected = last.state === 'failed' && last.reflection === null && !this.isLast(last);
    return open || unreflected ? last : undefined;
  }
}
