import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { e2bPython } from '../fixtures/e2b-python.ts';
import { type HostWorld, hostWorld } from '../host/world.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;
const python = await e2bPython();
const noPython = python.available ? '' : ` (skipped: ${python.reason})`;
const inExamples = (name: string) => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));

describe.skipIf(!bubblewrap.available)(`programs for E2B${skipped}`, { timeout: 180_000 }, () => {
  let world: HostWorld;
  let env: Record<string, string>;
  beforeAll(async () => {
    world = hostWorld({ GEODE_RUNTIME_NAME: 'bubblewrap' });
    const { gateway } = await world.open();
    const url = `${gateway.url}/e2b`;
    env = { ...world.env, E2B_API_KEY: gateway.secret ?? '', E2B_API_URL: url, E2B_SANDBOX_URL: url };
  }, 120_000);
  afterAll(() => world?.[Symbol.asyncDispose](), 120_000);
  const output = async (program: string, name: string, more: Record<string, string> = {}) =>
    (await promisify(execFile)(program, [inExamples(name)], { env: { ...env, ...more } })).stdout;

  it('API-2: for-e2b.ts runs here unchanged', async () => {
    expect(await output(process.execPath, 'for-e2b.ts')).toBe(
      'lines: 3\nmean age: 38.5\nthe network: HTTPError\n',
    );
  });

  it.skipIf(!python.available)(`API-2: for-e2b.py runs here unchanged${noPython}`, async () => {
    const folder = python.available ? python.folder : '';
    expect(await output('python3', 'for-e2b.py', { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' })).toBe(
      "lines: 3\ntyped: from outside\nchanged: ['typed.txt']\npieces: ['err', 'out']\nmean age: 38.5\n",
    );
  });
});
