import { z } from 'zod';
import type { Cancel } from '../core/cancel.ts';
import { GeodeError } from '../core/errors.ts';
import type { MemoryStore } from '../core/memory.ts';
import type { Models } from '../core/model.ts';
import type { SolveRequest, Solves } from '../core/solve.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Runs } from '../runs/index.ts';
import { languageOf } from '../runs/languages/index.ts';
import { Crystals } from './crystal.ts';
import { testableLanguages } from './harness.ts';
import { Loop } from './loop.ts';
import { SolveTable } from './solve-table.ts';

export interface SolveParts {
  readonly ledger: Ledger;
  readonly runs: Runs;
  readonly models: Models;
  readonly memory: MemoryStore;
}

/** Solving and what came of it, for every user. */
export interface OpenedSolves {
  of(user: string): Solves;
  crystals(user: string): Crystals;
}

export function openSolves({ ledger, runs, models, memory }: SolveParts): OpenedSolves {
  const table = new SolveTable(ledger);
  return {
    crystals: (user) => new Crystals(memory.in(user)),
    of(user) {
      const shop = { runs, models, memory: memory.in(user), table, user };
      return {
        async *solve(given, { signal }: Cancel = {}) {
          const request = checkRequest(given);
          // A missing provider is told before anything is written.
          models.get(request.model);
          const id = table.begin(user, request);
          yield* kept(table, id, new Loop(shop, id, request, [], signal));
        },
        async *resume(id, { signal }: Cancel = {}) {
          const { request, attempts } = table.reopen(user, id);
          yield* kept(table, id, new Loop(shop, id, request, attempts, signal));
        },
        list: (limit = 50) => table.list(user, limit),
        get: (id) => table.get(user, id),
      };
    },
  };
}

/** A solve that ends with an error, or whose reader leaves, can be resumed. */
async function* kept(table: SolveTable, id: string, loop: Loop) {
  try {
    yield* loop.run();
  } finally {
    table.leave(id);
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
      `The problem has ${problem.length} characters; the most is ${longestProblem}.`,
      { hint: 'Say it shorter, and give long material as files.' },
    );
  }
  if (language === undefined) return parsed.data;
  const { name } = languageOf(language);
  if (tests !== undefined && !testableLanguages.includes(name)) {
    throw new GeodeError('invalid_input', `Tests cannot be run for ${name}.`, {
      hint: `Tests work for ${testableLanguages.join(', ')}. For others give the expected output.`,
    });
  }
  return { ...parsed.data, language: name };
}
