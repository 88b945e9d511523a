import type { Cancel } from '../base/cancel.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import type { Runs } from '../runs/index.ts';
import type { Attempt, SolveEvent, SolveRequest } from '../seams/solve.ts';
import type { AttemptLog } from './attempt-log.ts';
import type { Author } from './author.ts';
import { install, type Packages } from './install.ts';
import { verify } from './verify.ts';

interface TrialParts {
  readonly runs: Runs;
  readonly user: string;
  readonly log: AttemptLog;
  readonly author: Author;
}

/** Tries attempts: installs their packages, runs them in fresh sandboxes, reports the outcome. */
export class Trial {
  readonly #parts: TrialParts;
  readonly #request: SolveRequest;
  readonly #signal: AbortSignal | undefined;
  /** Cached by language and names, because attempts mostly need the same packages again. */
  readonly #installed = new Map<string, Packages>();

  constructor(parts: TrialParts, request: SolveRequest, { signal }: Cancel) {
    this.#parts = parts;
    this.#request = request;
    this.#signal = signal;
  }

  async *check(given: Attempt): AsyncGenerator<SolveEvent, Attempt> {
    const { log, author } = this.#parts;
    const { number } = given;
    let attempt = given;
    try {
      const packages = yield* this.#packages(attempt);
      attempt = log.current(attempt);
      const checking = this.#verify(attempt, packages);
      let step = await checking.next();
      for (; !step.done; step = await checking.next())
        yield { type: 'run-output', attempt: number, ...step.value };
      const { run, verdict } = step.value;
      const ran = log.save({ ...attempt, run });
      const isOpen = this.#request.judge && verdict.label === 'unverified';
      const judged = isOpen ? await author.judge({ ...ran, verdict }) : verdict;
      const state = judged.label === 'failed' ? 'failed' : 'passed';
      yield { type: 'verdict', attempt: number, verdict: judged };
      return log.save({ ...log.current(ran), verdict: judged, state, endedAt: new Date() });
    } catch (thrown) {
      // Code, languages or files that cannot run, and a sandbox that dies, fail the attempt, not the solve.
      if (!isGeodeError(thrown) || thrown.code === 'cancelled' || thrown.code === 'runtime_unavailable')
        throw thrown;
      const failed = author.failed(log.current(attempt), `It could not be run: ${thrown.message}`);
      if (failed.verdict !== null) yield { type: 'verdict', attempt: number, verdict: failed.verdict };
      return failed;
    }
  }

  #verify({ code, language, files, checks }: Attempt, packages: Packages | undefined) {
    const { tests, expect } = this.#request;
    const candidate = {
      code: code ?? '',
      language: language ?? '',
      files: { ...this.#request.files, ...files },
      tests,
      expect,
      checks,
      packages,
    };
    return verify(this.#parts.runs, this.#parts.user, candidate, {
      signal: this.#signal,
      most: this.#request.most,
    });
  }

  async *#packages(attempt: Attempt): AsyncGenerator<SolveEvent, Packages | undefined> {
    const { number, language, dependencies } = attempt;
    if (dependencies.length === 0) return undefined;
    const known = this.#installed.get(JSON.stringify([language, dependencies]));
    if (known !== undefined) return known;
    const { runs, user, log } = this.#parts;
    const { egress, most } = this.#request;
    const names = dependencies.join(', ');
    if (egress === undefined)
      throw new GeodeError(
        'invalid_input',
        `it needs the packages ${names}, but no registry is allowed; use the standard library.`,
      );
    const { installation, packages } = await install(runs, user, language ?? '', dependencies, egress, {
      signal: this.#signal,
      most,
    });
    log.save({ ...attempt, installation });
    yield { type: 'install', attempt: number, installation };
    if (packages === null)
      throw new GeodeError(
        'invalid_input',
        `the packages ${names} could not be installed: ${installation.output}`,
      );
    this.#installed.set(JSON.stringify([language, dependencies]), packages);
    return packages;
  }
}
