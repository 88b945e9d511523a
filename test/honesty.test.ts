import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { missingProofs, whyPartial } from './gate.ts';
import { proofs } from './proofs.ts';
import { allIds } from './requirements.ts';

const folder = dirname(fileURLToPath(import.meta.url));

/** Words by which a test asks what the machine or the runtime can do. */
const capability =
  /capabilit|isolat|available|missing|reason|getuid|platform|images\b|freezer|canMount|runtime\.name|\bname [!=]==|\broot\b/i;

/** The head of a function that is handed on, as a test's is; a helper has a name. */
const handedOn = /^(?!\s*(const|let|export|return)\b).*=> \{$/;

/** A bare return on a capability in a test: it would end at once and count as passed. A helper may return. */
function silentReturns(source: string): string[] {
  const lines = source.split('\n');
  return lines.flatMap((line, at) => {
    const condition = /^\s*if \((.*)\) (return;|\{)$/.exec(line);
    const returns = condition?.[2] === 'return;' || lines[at + 1]?.trim() === 'return;';
    if (condition?.[1] === undefined || !returns || !capability.test(condition[1])) return [];
    const indent = (text: string) => text.length - text.trimStart().length;
    const head = lines.slice(0, at).findLast((above) => above.trim() !== '' && indent(above) < indent(line));
    return handedOn.test(head ?? '') ? [condition[1]] : [];
  });
}

test.each([
  'if (!harness().capabilities.pause) return;',
  'if (!docker.available) {\n    return;\n  }',
  "const some = 1;\n  if (name !== 'docker') return;",
  'if (process.getuid?.() !== 0) return;',
])('finds %j in a test, and leaves helpers alone', (line) => {
  expect(silentReturns(`it('x', async () => {\n  ${line}\n});`)).toHaveLength(1);
  expect(silentReturns(`it.skipIf(x)(\n'x',\nasync ({ skip }) => {\n  ${line}\n});`)).toHaveLength(1);
  expect(silentReturns(`])('x %s', async ([, spec]) => {\n  ${line}\n});`)).toHaveLength(1);
  expect(silentReturns(`async function helper() {\n  ${line}\n}`)).toEqual([]);
});

test('no test ends early where something is missing: it says `skip(condition, reason)`', () => {
  const suites = globSync('{**/*.test.ts,contracts/**/*.ts,runs/behaviour/*.ts}', { cwd: folder });
  expect(suites.length).toBeGreaterThan(80);
  const found = suites
    .filter((file) => !file.endsWith('honesty.test.ts'))
    .flatMap((file) =>
      silentReturns(readFileSync(`${folder}/${file}`, 'utf8')).map((line) => `${file}: ${line}`),
    );
  expect(found).toEqual([]);
});

test('no expectation of every item holds for an empty list: it says `eachOf(list)`', () => {
  const suites = globSync('**/*.ts', { cwd: folder }).filter((file) => !file.endsWith('honesty.test.ts'));
  const found = suites.flatMap((file) =>
    readFileSync(`${folder}/${file}`, 'utf8')
      .split('\n')
      .filter((line) => /expect\((?!eachOf\().*\.every\(.*toBe\(true\)/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});

test('the gate wants a passed test in each suite that proves an id, and names the one that lacks it', () => {
  const passed = [
    { file: 'test/a.test.ts', name: 'suite on docker > RT-1: works' },
    { file: 'test/b.test.ts', name: 'suite > RT-2: works' },
  ];
  const needed = { 'RT-1': ['test/a.test.ts > on docker', 'test/a.test.ts > on podman', 'test/b.test.ts'] };
  const missing = missingProofs(passed, ['RT-1', 'RT-2', 'RT-3'], needed);
  expect([...missing]).toEqual([
    ['RT-1', ['test/a.test.ts > on podman', 'test/b.test.ts']],
    ['RT-3', ['any suite']],
  ]);
});

test('every id in proofs.ts exists, and so does every suite that proves it', () => {
  expect(Object.keys(proofs).filter((id) => !allIds.has(id))).toEqual([]);
  const files = new Set(
    Object.values(proofs).flatMap((suites) => suites.map((suite) => suite.split(' > ')[0] ?? '')),
  );
  expect([...files].filter((file) => !existsSync(`${folder}/../${file}`))).toEqual([]);
});

test('a run is whole when every file ran without a filter, whatever its other options were', () => {
  const files = ['/a.test.ts', '/b.test.ts'];
  expect(whyPartial({ files, ran: ['/b.test.ts', '/a.test.ts'], filters: [] })).toBeNull();
  expect(whyPartial({ files, ran: ['/a.test.ts'], filters: [] })).toBe('1 of 2 files were left out');
  expect(whyPartial({ files, ran: files, filters: ['RT-1'] })).toBe('only tests that match RT-1 ran');
});
