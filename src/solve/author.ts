import type { Cancel } from '../base/cancel.ts';
import { isGeodeError, reasonOf } from '../base/errors.ts';
import type { Model, Models } from '../seams/model.ts';
import type { Attempt, SolveEvent, SolveRequest, Verdict } from '../seams/solve.ts';
import {
  type AnswerCost,
  addSpent,
  askFor,
  judgementShape,
  reflectionShape,
  solutionShape,
} from './answers.ts';
import type { AttemptLog } from './attempt-log.ts';
import { judgePrompt, type Prompt, reflectionPrompt, solutionPrompt } from './prompts.ts';

type Shape<T> = Parameters<typeof askFor<T>>[1]['shape'];

/** Calls the models for a solve: write, judge, reflect. Stores the cost of an answer as soon as it is known. */
export class Author {
  readonly #models: Models;
  readonly #user: string;
  readonly #request: SolveRequest;
  readonly #log: AttemptLog;
  readonly #signal: AbortSignal | undefined;

  constructor(
    { models, user }: { readonly models: Models; readonly user: string },
    request: SolveRequest,
    log: AttemptLog,
    { signal }: Cancel,
  ) {
    this.#models = models;
    this.#user = user;
    this.#request = request;
    this.#log = log;
    this.#signal = signal;
  }

  /** Writes the code of an attempt. Returns the model's question to a person if it cannot. */
  async *write(begun: Attempt, recalled: string): AsyncGenerator<SolveEvent, Attempt | string> {
    const earlier = this.#log.all.filter(({ number }) => number < begun.number);
    const prompt = solutionPrompt(this.#request, recalled, earlier);
    const asking = this.#ask(this.#models.get(this.#request.model), begun, prompt, solutionShape);
    try {
      let step = await asking.next();
      for (; !step.done; step = await asking.next())
        yield { type: 'code-delta', attempt: begun.number, text: step.value };
      const { code, language, files, checks, needs, dependencies } = step.value;
      const attempt = this.#log.save({
        ...this.#log.current(begun),
        language: this.#request.language ?? language.toLowerCase(),
        code,
        files: Object.fromEntries(files.map(({ path, content }) => [path, content])),
        checks: checks.trim() === '' ? null : checks,
        dependencies,
      });
      if (code.trim() === '') {
        this.#log.save({ ...attempt, state: 'failed', endedAt: new Date() });
        return needs.trim() || 'The model returned no code.';
      }
      yield { type: 'code', attempt: begun.number, language: attempt.language ?? '', code };
      return attempt;
    } catch (thrown) {
      if (!isGeodeError(thrown, 'answer_unusable')) throw thrown;
      return this.failed({ ...this.#log.current(begun), code: '' }, thrown.message);
    }
  }

  /** Judges a result that had no other check. */
  async judge(attempt: Attempt): Promise<Verdict> {
    const { passed, reason } = await this.#askCheap(
      attempt,
      judgePrompt(this.#request, attempt),
      judgementShape,
    );
    return { label: passed ? 'verified' : 'failed', by: 'judge', reason };
  }

  async *reflect(attempt: Attempt): AsyncGenerator<SolveEvent, Attempt> {
    const prompt = reflectionPrompt(this.#request, attempt);
    const reflection = await this.#askCheap(attempt, prompt, reflectionShape).catch((thrown: unknown) => {
      if (!isGeodeError(thrown, 'answer_unusable')) throw thrown;
      return {
        analysis: reasonOf(thrown),
        cause: attempt.verdict?.reason ?? '',
        change: 'Try a different approach.',
      };
    });
    yield { type: 'reflection', attempt: attempt.number, reflection };
    return this.#log.save({ ...this.#log.current(attempt), reflection });
  }

  /** An attempt that ended before any check. */
  failed(attempt: Attempt, reason: string): Attempt {
    const by = this.#request.tests === undefined ? 'exit-code' : 'tests';
    const verdict = { label: 'failed', by, reason } as const;
    return this.#log.save({ ...attempt, state: 'failed', verdict, endedAt: new Date() });
  }

  async #askCheap<T>(attempt: Attempt, prompt: Prompt, shape: Shape<T>): Promise<T> {
    const asking = this.#ask(this.#models.get('cheap'), attempt, prompt, shape);
    let step = await asking.next();
    while (!step.done) step = await asking.next();
    return step.value;
  }

  #ask<T>(
    model: Model,
    attempt: Attempt,
    { instructions, text }: Prompt,
    shape: Shape<T>,
  ): AsyncGenerator<string, T> {
    let spent: AnswerCost = this.#log.current(attempt);
    const request = {
      user: this.#user,
      instructions,
      messages: [{ role: 'user' as const, text }],
      shape,
    };
    return askFor(model, request, {
      signal: this.#signal,
      onSpent: (more) => {
        spent = addSpent(spent, more);
        this.#log.save({ ...this.#log.current(attempt), usage: spent.usage, cost: spent.cost });
      },
    });
  }
}
