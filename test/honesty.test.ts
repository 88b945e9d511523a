import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { missingProofs } from './gate.ts';
import { proofs } from './proofs.ts';
import { claimedIds } from './requirements.ts';

const folder = dirname(fileURLToPath(import.meta.url));

/** Words by which a test asks what the machine or the runtime can do. */
const capability =
  /capabilit|isolat|available|missing|reason|getuid|platform|images\b|freezer|canMount|runtime\.name|\bname [!=]==|\broot\b/i;

/** A bare return on a capability: the test would end at once and count as passed. */
function silentReturns(source: string): string[] {
  return [...source.matchAll(/\bif \(([^\n]*)\)\s*\{?\s*return;/g)]
    .map(([, condition = '']) => condition)
    .filter((condition) => capability.test(condition));
}

test.each([
  'if (!harness().capabilities.pause) return;',
  'if (!docker.available) {\n  return;\n}',
  "if (name !== 'docker') return;",
  'if (process.getuid?.() !== 0) return;',
])('finds %j', (line) => {
  expect(silentReturns(`it('x', async () => {\n  ${line}\n});`)).toHaveLength(1);
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

test('every suite that proves an id is there, and the id is claimed', () => {
  expect(Object.keys(proofs).filter((id) => !claimedIds.has(id))).toEqual([]);
  const files = new Set(
    Object.values(proofs).flatMap((suites) => suites.map((suite) => suite.split(' > ')[0] ?? '')),
  );
  expect([...files].filter((file) => !existsSync(`${folder}/../${file}`))).toEqual([]);
});
