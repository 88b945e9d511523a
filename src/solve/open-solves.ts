import { z } from 'zod';
import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Runs } from '../runs/index.ts';
import { languageOf } from '../runs/languages/index.ts';
import type { EgressSpec } from '../seams/egress.ts';
import { type EventSink, noEvents } from '../seams/events.ts';
import type { Limits } from '../seams/limits.ts';
import type { MemoryStore } from '../seams/memory.ts';
import type { Models } from '../seams/model.ts';
import type { SolveEvent, SolveOutcome, SolveRequest, Solves } from '../seams/solve.ts';
import type { Crystal, Standing } from './crystal.ts';
import { type CrystalChange, Crystals } from './crystals.ts';
import { testableLanguages } from './harness/harness.ts';
import { Loop, type LoopParts } from './loop.ts';
import { SolveTable } from './solve-table.ts';
import { type VerifiedCrystal, type VerifyCrystalOptions, verifyCrystal } from './verify-crystal.ts';

export interface SolveParts {
  readonly ledger: Ledger;
  readonly runs: Runs;
  readonly models: Models;
  readonly memory: MemoryStore;
  readonly events?: EventSink;
  /** Days that an unused crystal is recalled; 90 by default. */
  readonly crystalDays?: number;
  /** Maximum tokens of recalled text in a prompt; 3000 by default. */
  readonly recallTokens?: number;
}

/** A user's operations on their crystals. */
export interface UserCrystals {
  /** Newest first. */
  list(): Promise<readonly Crystal[]>;
  /** Throws `entry_not_found`, like the methods below. */
  get(key: string): Promise<Crystal>;
  standing(crystal: Crystal): Standing;
  edit(key: string, change: CrystalChange): Promise<Crystal>;
  remove(key: string): Promise<void>;
  /** Runs it again on the check stored with it. */
  verify(key: string, options?: VerifyCrystalOptions): Promise<VerifiedCrystal>;
}

/** Solves and their crystals, for every user. */
export interface OpenedSolves {
  of(user: string): Solves;
  crystals(user: string): UserCrystals;
}

export function openSolves(parts: SolveParts): OpenedSolves {
  const { ledger, runs, models, memory, events = noEvents, crystalDays = 90, recallTokens = 3_000 } = parts;
  const table = new SolveTable(ledger);
  const crystalsOf = (user: string) =>
    new Crystals(memory.in(user), {
      fadeMs: crystalDays * 24 * 3_600_000,
      emit: (eventBody) => events.emit(user, eventBody),
    });
  return {
    crystals(user) {
      const crystals = crystalsOf(user);
      return {
        list: () => crystals.list(),
        get: (key) => crystals.get(key),
        standing: (crystal) => crystals.standing(crystal),
        edit: (key, change) => crystals.edit(key, change),
        remove: (key) => crystals.remove(key),
        verify: (key, options = {}) => verifyCrystal({ runs, crystals, user }, key, options),
      };
    },
    of(user) {
      const crystals = crystalsOf(user);
      const shop = { runs, models, memory: memory.in(user), crystals, table, events, user, recallTokens };
      return {
        async *solve(given, { signal }: Cancel = {}) {
          const request = checkRequest(given);
          // Throw for a missing provider before anything is stored.
          models.get(request.model);
          const id = table.begin(user, request);
          yield* kept(shop, id, new Loop(shop, id, request, [], signal));
        },
        async *resume(id, { signal }: Cancel = {}) {
          const { request, attempts } = table.reopen(user, id);
          yield* kept(shop, id, new Loop(shop, id, request, attempts, signal));
        },
        list: (limit = 50) => table.list(user, limit),
        get: (id) => table.get(user, id),
      };
    },
  };
}

/** A solve that ends with an error, or whose reader leaves, can be resumed. */
async function* kept({ table, events, user }: LoopParts, id: string, loop: Loop): AsyncGenerator<SolveEvent> {
  let outcome: SolveOutcome | 'interrupted' = 'interrupted';
  events.emit(user, { type: 'solve-start', solve: id });
  try {
    for await (const event of loop.run()) {
      if (event.type === 'result') outcome = event.outcome;
      yield event;
    }
  } finally {
    table.leave(id);
    events.emit(user, { type: 'solve-end', solve: id, outcome });
  }
}

const longestProblem = 50_000;
const longestText = 200_000;

const text = z.string().max(longestText);
const schema = z.strictObject({
  problem: z.string().trim().min(1, 'must not be empty'),
  language: z.string().optional(),
  tests: text.optional(),
  expect: text.optional(),
  judge: z.boolean().optional(),
  files: z.record(z.string(), z.string().max(1_000_000)).optional(),
  attempts: z.number().int().min(1).max(10).optional(),
  budget: z.number().nonnegative().nullable().optional(),
  model: z.string().min(1).optional(),
  // Checked at configuration time, because it decides what a run may reach.
  egress: z.custom<EgressSpec>((value) => typeof value === 'object' && value !== null).optional(),
  most: z.custom<Limits>((value) => typeof value === 'object' && value !== null).optional(),
});

function checkRequest(given: SolveRequest): SolveRequest {
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    throw new GeodeError('invalid_input', `The problem is not valid: ${z.prettifyError(parsed.error)}`);
  }
  const { problem, language, tests } = parsed.data;
  if (problem.length > longestProblem) {
    throw new GeodeError(
      'too_large',
      `The problem has ${problem.length} characters; the maximum is ${longestProblem}.`,
      { hint: 'Shorten it, and pass long material as files.' },
    );
  }
  if (tests !== undefined && hasOnlyComments(tests)) {
    throw new GeodeError('invalid_input', 'The tests contain only comments.', {
      hint: 'Every solution would pass them. Give tests that call the solution, or none.',
    });
  }
  if (language === undefined) return parsed.data;
  const { name } = languageOf(language);
  if (tests !== undefined && !testableLanguages.includes(name)) {
    throw new GeodeError('invalid_input', `Tests cannot be run for ${name}.`, {
      hint: `Tests work for ${testableLanguages.join(', ')}. For other languages give the expected output.`,
    });
  }
  return { ...parsed.data, language: name };
}

function hasOnlyComments(tests: string): boolean {
  return tests.split('\n').every((line) => /^\s*(#|\/\/|$)/.test(line));
}
