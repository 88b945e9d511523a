import { GeodeError } from '../base/errors.ts';
import { shortenMiddle } from '../base/shorten-middle.ts';
import type { EventBody } from '../seams/events.ts';
import type { Memory } from '../seams/memory.ts';
import type { Attempt, SolveRequest } from '../seams/solve.ts';
import {
  type Crystal,
  crystalKey,
  crystalOf,
  crystalPrefix,
  crystalSizes,
  crystalTag,
  entryOf,
  newCrystal,
  type Standing,
  standingOf,
} from './crystal.ts';
import { relevant } from './relevant.ts';

export interface CrystalsOptions {
  /** How long an unused crystal is recalled. */
  readonly fadeMs?: number;
  readonly emit?: (eventBody: EventBody) => void;
  readonly now?: () => number;
}

/** Fields that a person may correct. */
export type CrystalChange = Partial<
  Pick<Crystal, 'pinned' | 'problem' | 'solution'> & Pick<Crystal['check'], 'tests' | 'expect'>
>;

const dayMs = 24 * 3_600_000;
const usualFadeMs = 90 * dayMs;

/** The crystals of one user, kept as entries of memory. Every change is an event. */
export class Crystals {
  readonly #memory: Memory;
  readonly #fadeMs: number;
  readonly #emit: (eventBody: EventBody) => void;
  readonly #now: () => number;

  constructor(
    memory: Memory,
    { fadeMs = usualFadeMs, emit = () => {}, now = Date.now }: CrystalsOptions = {},
  ) {
    this.#memory = memory;
    this.#fadeMs = fadeMs;
    this.#emit = emit;
    this.#now = now;
  }

  standing(crystal: Crystal): Standing {
    return standingOf(crystal, this.#now(), this.#fadeMs);
  }

  /** Crystals that match a problem or an error and have not faded, best first. */
  async recall(text: string, limit: number): Promise<readonly Crystal[]> {
    const query = {
      text: shortenMiddle(text, 8_000),
      category: 'core',
      tags: [crystalTag],
      limit: limit * 4,
    };
    const { results } = await this.#memory.recall(query);
    return relevant(results)
      .flatMap(({ entry }) => crystalOf(entry) ?? [])
      .filter((crystal) => ['pinned', 'trusted'].includes(this.standing(crystal)))
      .slice(0, limit);
  }

  /** The crystal of exactly this problem, faded or not. */
  async ofProblem(problem: string, language: string): Promise<Crystal | undefined> {
    const entry = await this.#memory.get(crystalKey(problem, language));
    return entry === null ? undefined : crystalOf(entry);
  }

  async list(): Promise<readonly Crystal[]> {
    const found: Crystal[] = [];
    for await (const entry of this.#memory.export({ category: 'core', tags: [crystalTag] })) {
      const crystal = crystalOf(entry);
      if (crystal !== undefined) found.push(crystal);
    }
    return found.reverse();
  }

  /** Throws `entry_not_found`. */
  async get(key: string): Promise<Crystal> {
    const entry = await this.#memory.get(key.startsWith(crystalPrefix) ? key : `${crystalPrefix}${key}`);
    const crystal = entry === null ? undefined : crystalOf(entry);
    if (crystal === undefined)
      throw new GeodeError('entry_not_found', `There is no crystal ${JSON.stringify(key)}.`);
    return crystal;
  }

  /**
   * Stores the attempt that passed. The same problem again confirms or, unless it is pinned, replaces the stored one.
   */
  async keep(
    request: SolveRequest,
    solve: string,
    passed: Attempt,
    failed: readonly Attempt[],
  ): Promise<{ readonly key: string; readonly change: 'created' | 'confirmed' }> {
    const crystal = newCrystal(request, solve, passed, failed);
    const { key } = crystal;
    const before = await this.#memory.get(key);
    const known = before === null ? undefined : crystalOf(before);
    if (known !== undefined && (known.pinned || known.solution === crystal.solution)) {
      await this.confirm(known);
      return { key, change: 'confirmed' };
    }
    await this.#save(crystal, 'created');
    return { key, change: 'created' };
  }

  /** It passed the checks of a problem; if it had faded, it is recalled again. */
  async confirm({ key }: Pick<Crystal, 'key'>): Promise<void> {
    const usedAt = this.#time();
    await this.#change(key, 'confirmed', ({ successes }) => ({
      successes: successes + 1,
      broken: false,
      usedAt,
    }));
  }

  /** It failed the checks of a similar problem. */
  async doubt({ key }: Pick<Crystal, 'key'>, reason: string): Promise<void> {
    const lastFailure = shortenMiddle(reason, crystalSizes.error);
    await this.#change(key, 'doubted', ({ failures }) => ({ failures: failures + 1, lastFailure }));
  }

  /**
   * It was in the prompt of an attempt that passed. Recorded at most once a day, because each change is a version in
   * memory.
   */
  async helped({ key, usedAt, at }: Pick<Crystal, 'key' | 'usedAt' | 'at'>): Promise<void> {
    if (this.#now() - Date.parse(usedAt ?? at) < dayMs) return;
    await this.#change(key, null, () => ({ usedAt: this.#time() }));
  }

  /** It passed its own check again, which clears earlier failures; or it failed and is no longer recalled. */
  async verified({ key }: Pick<Crystal, 'key'>, passed: boolean, reason: string): Promise<void> {
    const usedAt = this.#time();
    const lastFailure = shortenMiddle(reason, crystalSizes.error);
    await this.#change(key, passed ? 'confirmed' : 'doubted', ({ successes, failures }) =>
      passed
        ? { successes: successes + 1, failures: 0, lastFailure: null, broken: false, usedAt }
        : { failures: failures + 1, lastFailure, broken: true },
    );
  }

  /** Pins or corrects a crystal for a person. A corrected solution or check starts without trust. */
  async edit(key: string, { tests, expect, ...change }: CrystalChange): Promise<Crystal> {
    const before = await this.get(key);
    const check = {
      ...before.check,
      ...(tests !== undefined && { tests }),
      ...(expect !== undefined && { expect }),
    };
    const isCorrected = change.solution !== undefined || tests !== undefined || expect !== undefined;
    const anew = { successes: 0, failures: 0, lastFailure: null, broken: false, usedAt: this.#time() };
    const next = { ...before, ...change, check, ...(isCorrected && anew) };
    return await this.#save(next, 'edited');
  }

  async remove(key: string): Promise<void> {
    const crystal = await this.get(key);
    await this.#memory.forget(crystal.key);
    this.#emit({ type: 'crystal-change', key: crystal.key, change: 'removed' });
  }

  /** Changes the current state, not the one that the caller read. A crystal removed in between stays removed. */
  async #change(
    key: string,
    outcome: 'confirmed' | 'doubted' | null,
    change: (now: Crystal) => Partial<Crystal>,
  ): Promise<void> {
    const entry = await this.#memory.get(key);
    const current = entry === null ? undefined : crystalOf(entry);
    if (current === undefined) return;
    const next = { ...current, ...change(current) };
    if (outcome === null) await this.#memory.store(entryOf(next));
    else await this.#save(next, outcome);
  }

  /** As written; storing scrubs secrets. */
  async #save(crystal: Crystal, change: 'created' | 'confirmed' | 'doubted' | 'edited'): Promise<Crystal> {
    const { entry } = await this.#memory.store(entryOf(crystal));
    this.#emit({ type: 'crystal-change', key: crystal.key, change });
    return crystalOf(entry) ?? crystal;
  }

  #time(): string {
    return new Date(this.#now()).toISOString();
  }
}
