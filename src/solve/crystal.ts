import { createHash } from 'node:crypto';
import { z } from 'zod';
import { GeodeError } from '../core/errors.ts';
import type { Entry, Memory } from '../core/memory.ts';
import type { Attempt, SolveRequest } from '../core/solve.ts';
import { bothEnds } from './both-ends.ts';
import { errorTypesOf } from './signature.ts';

const prefix = 'crystallized:';
const crystalTag = 'crystal';

const schema = z.object({
  problem: z.string(),
  errors: z.array(z.string()),
  solution: z.string(),
  language: z.string(),
  files: z.record(z.string(), z.string()),
  tags: z.array(z.string()),
  /** Attempts that failed before this one. */
  retries: z.number(),
  verification: z.string(),
  /** The solve that it comes from. */
  solve: z.string(),
  at: z.string(),
  /** How often it was right, and wrong, on a problem that looked like its own. */
  successes: z.number(),
  failures: z.number(),
  lastFailure: z.string().nullable(),
  /** A person vouches for it: it is neither replaced nor left out of recall. */
  pinned: z.boolean(),
});

/** What is kept of a problem that was solved. */
export type Crystal = z.infer<typeof schema> & { readonly key: string };

const sizes = { problem: 4_000, solution: 20_000, error: 500, errors: 5, files: 20_000 };

/** Below this trust a crystal is kept and no longer recalled. */
const leastTrust = 0.3;

/** The crystals of one user, kept as entries of memory. */
export class Crystals {
  readonly #memory: Memory;

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** Those that fit a problem or an error, best first. */
  async recall(text: string, limit: number): Promise<readonly Crystal[]> {
    const query = { text: bothEnds(text, 8_000), category: 'core', tags: [crystalTag], limit: limit * 2 };
    const { results } = await this.#memory.recall(query);
    return results
      .flatMap(({ entry }) => crystalOf(entry) ?? [])
      .filter((crystal) => crystal.pinned || trustOf(crystal) >= leastTrust)
      .slice(0, limit);
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
    const entry = await this.#memory.get(key.startsWith(prefix) ? key : `${prefix}${key}`);
    const crystal = entry === null ? undefined : crystalOf(entry);
    if (crystal === undefined)
      throw new GeodeError('entry_not_found', `There is no crystal ${JSON.stringify(key)}.`);
    return crystal;
  }

  /** Keeps the attempt that passed. The same problem again confirms or, unless it is pinned, replaces what is there. */
  async keep(
    request: SolveRequest,
    solve: string,
    passed: Attempt,
    failed: readonly Attempt[],
  ): Promise<{ readonly key: string; readonly change: 'created' | 'confirmed' }> {
    const key = keyOf(request.problem, passed.language ?? '');
    const before = await this.#memory.get(key);
    const known = before === null ? undefined : crystalOf(before);
    const solution = bothEnds(passed.code ?? '', sizes.solution);
    if (known !== undefined && (known.pinned || known.solution === solution)) {
      await this.#save({ ...known, successes: known.successes + 1 });
      return { key, change: 'confirmed' };
    }
    const errors = errorsOf(failed);
    const problem = bothEnds(request.problem, sizes.problem);
    const files = JSON.stringify(passed.files).length > sizes.files ? {} : passed.files;
    await this.#save({
      key,
      problem,
      errors: [...errors],
      solution,
      language: passed.language ?? '',
      files: { ...files },
      tags: tagsOf(problem, errors, passed.language ?? ''),
      retries: failed.length,
      verification: passed.verdict?.by ?? 'exit-code',
      solve,
      at: new Date().toISOString(),
      successes: 1,
      failures: 0,
      lastFailure: null,
      pinned: false,
    });
    return { key, change: 'created' };
  }

  async confirm(crystal: Crystal): Promise<void> {
    await this.#save({ ...crystal, successes: crystal.successes + 1 });
  }

  async doubt(crystal: Crystal, reason: string): Promise<void> {
    const lastFailure = bothEnds(reason, sizes.error);
    await this.#save({ ...crystal, failures: crystal.failures + 1, lastFailure });
  }

  /** What a person says of it: pins it, or corrects it. */
  async edit(
    key: string,
    change: Partial<Pick<Crystal, 'pinned' | 'problem' | 'solution'>>,
  ): Promise<Crystal> {
    const crystal = { ...(await this.get(key)), ...change };
    await this.#save(crystal);
    return crystal;
  }

  async remove(key: string): Promise<void> {
    await this.#memory.forget((await this.get(key)).key);
  }

  async #save({ key, ...kept }: Crystal): Promise<void> {
    await this.#memory.store({
      key,
      content: JSON.stringify(kept),
      category: 'core',
      source: `solve:${kept.solve}`,
      tags: [crystalTag, ...kept.tags],
      // People and models ask by problem and by error, never by JSON.
      searchText: [kept.problem, ...kept.errors].join('\n'),
      identifiers: kept.errors.map((error) => error.slice(0, 200)),
    });
  }
}

/** From 0 to 1; one half when nothing is known. */
export function trustOf({ successes, failures }: Pick<Crystal, 'successes' | 'failures'>): number {
  return (successes + 1) / (successes + failures + 2);
}

function keyOf(problem: string, language: string): string {
  const words = problem.toLowerCase().replace(/\s+/g, ' ').trim();
  return `${prefix}${createHash('sha256').update(`${language}\n${words}`).digest('hex').slice(0, 24)}`;
}

function crystalOf({ key, content }: Pick<Entry, 'key' | 'content'>): Crystal | undefined {
  if (!key.startsWith(prefix)) return undefined;
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
  return [...new Set(errors.map((error) => bothEnds(error, sizes.error)))].slice(-sizes.errors);
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
