import { idPattern } from './requirements.ts';

/** A test that passed: the file of it from the root of the project, and its name with those of its suites. */
export interface PassedTest {
  readonly file: string;
  readonly name: string;
}

export function idsIn(name: string): readonly string[] {
  return name.match(idPattern) ?? [];
}

/** The claimed ids that lack a passed test, with the suites that lack it. Without named suites any one will do. */
export function missingProofs(
  passed: readonly PassedTest[],
  claimed: Iterable<string>,
  proofs: Readonly<Record<string, readonly string[]>>,
): ReadonlyMap<string, readonly string[]> {
  const missing = [...claimed].map((id) => {
    const proving = passed.filter(({ name }) => idsIn(name).includes(id));
    const suites = proofs[id] ?? [anySuite];
    return [id, suites.filter((suite) => !proving.some((test) => isOf(test, suite)))] as const;
  });
  return new Map(missing.filter(([, suites]) => suites.length > 0));
}

/** Why a run says nothing about the claims that it did not prove, or null when it ran every test of every file. */
export function whyPartial({
  files,
  ran,
  filters,
}: {
  readonly files: readonly string[];
  readonly ran: readonly string[];
  readonly filters: readonly string[];
}): string | null {
  const left = files.filter((file) => !ran.includes(file));
  if (left.length > 0) return `${left.length} of ${files.length} files were left out`;
  return filters.length > 0 ? `only tests that match ${filters.join(', ')} ran` : null;
}

const anySuite = 'any suite';

function isOf({ file, name }: PassedTest, suite: string): boolean {
  const [ofFile, words = ''] = suite.split(' > ');
  return suite === anySuite || (file === ofFile && name.includes(words));
}
