import { createHash } from 'node:crypto';
import { z } from 'zod';
import { bothEnds } from '../base/both-ends.ts';
import type { Entry, NewEntry } from '../seams/memory.ts';
import type { Attempt, SolveRequest } from '../seams/solve.ts';
import { trustOf } from '../seams/solve.ts';
import { errorTypesOf } from './signature.ts';

export const crystalPrefix = 'crystallized:';
export const crystalTag = 'crystal';

const noCheck = { tests: null, expect: null, checks: null, files: {} };

const schema = z.object({
  problem: z.string(),
  errors: z.array(z.string()),
  solution: z.string(),
  language: z.string(),
  files: z.record(z.string(), z.string()),
  /** Packages that the solution needs. */
  dependencies: z.array(z.string()).default([]),
  tags: z.array(z.string()),
  /** Attempts that failed before this one. */
  retries: z.number(),
  verification: z.string(),
  /** Checks for verifying it again: the given ones, or those that the model wrote. */
  check: z
    .object({
      tests: z.string().nullable(),
      expect: z.string().nullable(),
      checks: z.string().nullable(),
      /** The files that the problem came with. */
      files: z.record(z.string(), z.string()).default({}),
    })
    .default(noCheck),
  /** The solve that it comes from. */
  solve: z.string(),
  at: z.string(),
  /** The last time that it was right or helped; null: not since it was kept. */
  usedAt: z.string().nullable().default(null),
  /** How often it was right, and wrong, on a problem that looked like its own. */
  successes: z.number(),
  failures: z.number(),
  lastFailure: z.string().nullable(),
  /** It failed its own check the last time that it was verified. */
  broken: z.boolean().default(false),
  /** A person vouches for it: it is neither replaced nor left out of recall. */
  pinned: z.boolean(),
});

/** The knowledge kept from a solved problem. */
export type Crystal = z.infer<typeof schema> & { readonly key: string };

/** In recall are those that are `pinned` or `trusted`; the others have faded: they are kept and can come back. */
export type Standing = 'pinned' | 'trusted' | 'distrusted' | 'unused';

export const crystalSizes = {
  problem: 4_000,
  solution: 20_000,
  error: 500,
  errors: 5,
  files: 20_000,
  check: 40_000,
};

/** Below this trust a crystal leaves recall. */
const leastTrust = 0.3;

/** `fadeMs`: how long a crystal stays in recall without being used. */
export function standingOf(crystal: Crystal, now: number, fadeMs: number): Standing {
  if (crystal.pinned) return 'pinned';
  if (crystal.broken || trustOf(crystal) < leastTrust) return 'distrusted';
  return now - Date.parse(crystal.usedAt ?? crystal.at) > fadeMs ? 'unused' : 'trusted';
}

/** From the attempt that passed and the failed ones before it. */
export function newCrystal(
  request: SolveRequest,
  solve: string,
  passed: Attempt,
  failed: readonly Attempt[],
): Crystal {
  const errors = errorsOf(failed);
  const problem = bothEnds(request.problem, crystalSizes.problem);
  const language = passed.language ?? '';
  return {
    key: crystalKey(request.problem, language),
    problem,
    errors: [...errors],
    solution: bothEnds(passed.code ?? '', crystalSizes.solution),
    language,
    files: bounded(passed.files, {}, crystalSizes.files),
    dependencies: [...passed.dependencies],
    tags: tagsOf(problem, errors, language),
    retries: failed.length,
    verification: passed.verdict?.by ?? 'exit-code',
    check: bounded(
      {
        tests: request.tests ?? null,
        expect: request.expect ?? null,
        checks: passed.checks,
        files: { ...request.files },
      },
      noCheck,
      crystalSizes.check,
    ),
    solve,
    at: new Date().toISOString(),
    usedAt: null,
    successes: 1,
    failures: 0,
    lastFailure: null,
    broken: false,
    pinned: false,
  };
}

/** A part of a check or of the files would be worse than none. */
function bounded<T extends object>(given: T, none: T, most: number): T {
  return JSON.stringify(given).length > most ? none : { ...given };
}

export function crystalKey(problem: string, language: string): string {
  const words = problem.toLowerCase().replace(/\s+/g, ' ').trim();
  return `${crystalPrefix}${createHash('sha256').update(`${language}\n${words}`).digest('hex').slice(0, 24)}`;
}

export function entryOf({ key, ...kept }: Crystal): NewEntry {
  return {
    key,
    content: JSON.stringify(kept),
    category: 'core',
    source: `solve:${kept.solve}`,
    tags: [crystalTag, ...kept.tags],
    // People and models ask by problem and by error, never by JSON.
    searchText: [kept.problem, ...kept.errors].join('\n'),
    identifiers: kept.errors.map((error) => error.slice(0, 200)),
  };
}

export function crystalOf({ key, content }: Pick<Entry, 'key' | 'content'>): Crystal | undefined {
  if (!key.startsWith(crystalPrefix)) return undefined;
  try {
    const parsed = schema.safeParse(JSON.parse(content));
    return parsed.success ? { ...parsed.data, key } : undefined;
  } catch {
    return undefined;
  }
}

/** From stderr, stdout or the outcome: an error that printed nothing is one too. */
function errorsOf(failed: readonly Attempt[]): readonly string[] {
  const errors = failed.flatMap(({ run, verdict }) => run?.signature ?? verdict?.reason ?? []);
  return [...new Set(errors.map((error) => bothEnds(error, crystalSizes.error)))].slice(-crystalSizes.errors);
}

const subjects =
  'api async cli csv database date file html http image json list math network number parse path prime process random recursion regex server socket sort sql string table test text thread time tree url xml yaml zip';

/** Whole words only: `profile` is not about a file. */
function tagsOf(problem: string, errors: readonly string[], language: string): string[] {
  const words = new Set(problem.toLowerCase().match(/[a-z]+/g) ?? []);
  const about = subjects.split(' ').filter((subject) => words.has(subject) || words.has(`${subject}s`));
  const types = errorTypesOf(errors.join('\n')).map((type) => type.toLowerCase());
  return [...new Set([language, ...about, ...types])].filter((tag) => tag !== '').slice(0, 30);
}
