import { createHash } from 'node:crypto';
import { z } from 'zod';
import { shortenMiddle } from '../base/shorten-middle.ts';
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
      /** The files of the problem. */
      files: z.record(z.string(), z.string()).default({}),
    })
    .default(noCheck),
  /** The solve that it comes from. */
  solve: z.string(),
  at: z.string(),
  /** When it last passed or helped; null: not since it was stored. */
  usedAt: z.string().nullable().default(null),
  /** How often it passed and failed on a similar problem. */
  successes: z.number(),
  failures: z.number(),
  lastFailure: z.string().nullable(),
  /** It failed its own check at the last verification. */
  broken: z.boolean().default(false),
  /** A person pinned it: it is neither replaced nor left out of recall. */
  pinned: z.boolean(),
});

/** The knowledge kept from a solved problem. */
export type Crystal = z.infer<typeof schema> & { readonly key: string };

/** `pinned` and `trusted` crystals are recalled. The others have faded: they are kept and can return. */
export type Standing = 'pinned' | 'trusted' | 'distrusted' | 'unused';

export const crystalSizes = {
  problem: 4_000,
  solution: 20_000,
  error: 500,
  errors: 5,
  files: 20_000,
  check: 40_000,
};

/** Below this trust a crystal is no longer recalled. */
const leastTrust = 0.3;

/** `fadeMs`: how long an unused crystal is recalled. */
export function standingOf(crystal: Crystal, now: number, fadeMs: number): Standing {
  if (crystal.pinned) return 'pinned';
  if (crystal.broken || trustOf(crystal) < leastTrust) return 'distrusted';
  return now - Date.parse(crystal.usedAt ?? crystal.at) > fadeMs ? 'unused' : 'trusted';
}

/** Made from the attempt that passed and the failed ones before it. */
export function newCrystal(
  request: SolveRequest,
  solve: string,
  passed: Attempt,
  failed: readonly Attempt[],
): Crystal {
  const errors = errorsOf(failed);
  const problem = shortenMiddle(request.problem, crystalSizes.problem);
  const language = passed.language ?? '';
  return {
    key: crystalKey(request.problem, language),
    problem,
    errors: [...errors],
    solution: shortenMiddle(passed.code ?? '', crystalSizes.solution),
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

/** An incomplete check or file would be worse than none. */
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
    // People and models search by problem and by error, never by JSON.
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

/** From stderr, stdout or the outcome: an error without output counts too. */
function errorsOf(failed: readonly Attempt[]): readonly string[] {
  const errors = failed.flatMap(({ run, verdict }) => run?.signature ?? verdict?.reason ?? []);
  return [...new Set(errors.map((error) => shortenMiddle(error, crystalSizes.error)))].slice(
    -crystalSizes.errors,
  );
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
