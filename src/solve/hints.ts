import type { Cancel } from '../base/cancel.ts';
import { isGeodeError } from '../base/errors.ts';
import { shortenMiddle } from '../base/shorten-middle.ts';
import type { Memory, UseOutcome } from '../seams/memory.ts';
import type { SolveEvent } from '../seams/solve.ts';
import { type Crystal, crystalPrefix } from './crystal.ts';
import type { Crystals } from './crystals.ts';
import { type Note, type RecallBlock, recallBlock } from './recall-block.ts';
import { relevant } from './relevant.ts';

const recalledCrystals = 3;
const recalledNotes = 5;
const keptCrystals = 4;

/** Hints from crystals and memory for a problem and the errors so far. */
export class Hints {
  readonly #crystals: Crystals;
  readonly #memory: Memory;
  readonly #mostTokens: number;
  #found: readonly Crystal[] = [];
  #notes: readonly Note[] = [];

  constructor(crystals: Crystals, memory: Memory, mostTokens: number) {
    this.#crystals = crystals;
    this.#memory = memory;
    this.#mostTokens = mostTokens;
  }

  get crystals(): readonly Crystal[] {
    return this.#found;
  }

  /** Searches by the problem and, after a failure, by its error. Continues without memory if it does not answer. */
  async *recall(text: string, { signal }: Cancel): AsyncGenerator<SolveEvent> {
    try {
      const crystals = await this.#crystals.recall(text, recalledCrystals);
      const { results } = await this.#memory.recall(
        { text: shortenMiddle(text, 8_000), limit: recalledNotes * 4 },
        { signal },
      );
      this.#notes = relevant(results)
        .map(({ entry }) => entry)
        .filter(({ key }) => !key.startsWith(crystalPrefix))
        .slice(0, recalledNotes);
      const known = new Set(this.#found.map(({ key }) => key));
      this.#found = [...crystals.filter(({ key }) => !known.has(key)), ...this.#found].slice(0, keptCrystals);
      yield {
        type: 'recalled',
        crystals: crystals.map(({ key, problem }) => ({ key, problem })),
        entries: this.#notes.map(({ key }) => ({ key })),
      };
    } catch (thrown) {
      if (!isGeodeError(thrown, 'memory_down')) throw thrown;
      yield { type: 'recalled', crystals: [], entries: [] };
    }
  }

  block(): RecallBlock {
    return recallBlock(this.#found, this.#notes, this.#mostTokens);
  }

  /** Counts for entries that an attempt had in its prompt whether it passed. Continues without memory if it is down. */
  async note(keys: readonly string[], outcome: UseOutcome): Promise<void> {
    if (keys.length === 0) return;
    try {
      await this.#memory.noteOutcome(keys, outcome);
    } catch (thrown) {
      if (!isGeodeError(thrown, 'memory_down')) throw thrown;
    }
  }
}
