import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type ModelServer, startModelServer } from '../fixtures/model-server/model-server.ts';
import { patience, patiently, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;
const key = 'sk-not-for-anybody-0123456789';

describe.skipIf(!bubblewrap.available)(`geode solve and geode crystals${skipped}`, patience, () => {
  let server: ModelServer;
  let home: SandboxHome;
  let wrong = true;
  /** Held back until then, when a test asks for it. */
  let hold: Promise<void> | undefined;
  let killed: number | undefined;

  beforeAll(async () => {
    server = await startModelServer(({ prompt }) => {
      if (prompt.includes('Use the evidence')) {
        return { text: JSON.stringify({ analysis: 'a', cause: 'It squares.', change: 'Double it.' }) };
      }
      const code = wrong ? 'def double(n): return n * n' : 'def double(n): return 2 * n';
      wrong = false;
      const text = JSON.stringify({ language: 'python', code, files: [], checks: '', needs: '' });
      const held = prompt.includes('Earlier attempts at this problem') ? hold : undefined;
      return { text, ...(held && { hold: held }) };
    });
    home = await sandboxHome({
      GEODE_RUNTIME_NAME: 'bubblewrap',
      GEODE_PROVIDERS_SERVICES: JSON.stringify({
        scripted: { kind: 'openai-compatible', base_url: `${server.url}/v1`, api_key: key },
      }),
      GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
    });
    await writeFile(join(home.folder, 'tests.py'), 'assert double(3) == 6\n');
  }, 120_000);
  afterAll(async () => {
    if (killed !== undefined) await reapRunsOf(killed, home);
    await home[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  }, 120_000);

  it('SLV-3: shows each attempt live, prints the solution, and stores both in memory', async () => {
    const words = ['write', 'double(n),', 'twice', 'the', 'number'];
    const asked = ['solve', '-l', 'python', '--tests', 'tests.py', ...words];
    const { code, stdout, stderr } = await home.run(asked);
    expect(stdout, stderr).toBe('def double(n): return 2 * n\n');
    expect(code).toBe(0);
    expect(stderr).toContain('Attempt 1');
    expect(stderr).toContain('failed: It did not pass the tests');
    expect(stderr).toContain('Learned: It squares. Double it.');
    expect(stderr).toContain('verified: It passed the tests.');
    expect(stderr).toContain('Solved.');
    const calls = server.calls.length;
    const again = await home.run(asked);
    expect(again.stdout).toBe('def double(n): return 2 * n\n');
    expect(again.stderr).toContain('an earlier solution');
    expect(server.calls).toHaveLength(calls);

    const { solves } = await home.json<{ solves: { id: string }[] }>(['solve', 'ls', '--json']);
    expect(solves).toHaveLength(2);
    const shown = await home.ok(['solve', 'show', solves[1]?.id ?? '']);
    expect(shown).toContain('Attempt 1: failed');
    expect(shown).toContain('return n * n');
    const events = (await home.ok(['solve', '--json', '-l', 'python', '--tests', 'tests.py', ...words]))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).type);
    expect(events.at(0)).toBe('solve-start');
    expect(events.at(-1)).toBe('result');
  });

  it('CRY-4: a person corrects a crystal and verifies it, with and without a running host', async () => {
    const { crystals } = await home.json<{ crystals: { key: string; standing: string }[] }>([
      ...['crystals', 'ls', '--json'],
    ]);
    const id = crystals[0]?.key ?? '';
    expect(crystals).toMatchObject([{ standing: 'trusted' }]);
    expect(await home.ok(['crystals', 'verify', id])).toContain('verified');
    await writeFile(join(home.folder, 'worse.py'), 'def double(n): return n');
    expect(await home.ok(['crystals', 'edit', '--solution', 'worse.py', id])).toContain(`edited ${id}`);
    const failed = await home.run(['crystals', 'verify', '--all']);
    expect(failed.code).toBe(1);
    expect(failed.stdout).toContain('failed, trust 0.33: It did not pass the tests');
    expect(await home.ok(['crystals', 'ls'])).toContain('distrusted');
    await home.ok(['host', 'stop']);
    await home.ok(['crystals', 'edit', '--solution', '-', id], 'def double(n): return 2 * n');
    const { verified } = await home.json<{ verified: { verdict: { label: string } }[] }>([
      ...['crystals', 'verify', '--json', id],
    ]);
    expect(verified).toMatchObject([
      { crystal: { broken: false }, verdict: { label: 'verified', by: 'tests' } },
    ]);
    expect(await home.ok(['crystals', 'show', id])).toContain('trusted, trust 0.67');
    expect((await home.run(['crystals', 'edit', id])).code).toBe(2);
    expect((await home.run(['crystals', 'verify'])).code).toBe(2);
    expect((await home.run(['crystals', 'verify', 'nothing'])).stderr).toContain('There is no crystal');
  });

  it('SLV-3: attempts survive a killed host; resuming repeats no answered model request', async () => {
    wrong = true;
    let release = () => {};
    hold = new Promise((resolve) => {
      release = resolve;
    });
    const before = server.calls.length;
    const words = ['write', 'a', 'function', 'double(n)', 'for', 'another', 'purpose', 'entirely'];
    await writeFile(join(home.folder, 'more-tests.py'), 'assert double(4) == 8 and double(0) == 0\n');
    // Nothing answers by itself.
    for (const { key: id } of (await home.json<{ crystals: { key: string }[] }>(['crystals', 'ls', '--json']))
      .crystals)
      await home.ok(['crystals', 'rm', id]);
    const asking = home.run(['solve', '-l', 'python', '--tests', 'more-tests.py', ...words]);
    await patiently(async () => server.calls.length >= before + 3, 'the second attempt is asked for');
    killed = (await home.host()).pid;
    process.kill(killed, 'SIGKILL');
    const { code } = await asking;
    expect(code).not.toBe(0);
    release();
    hold = undefined;

    const { solves } = await home.json<{ solves: { id: string; state: string }[] }>([
      'solve',
      'ls',
      '--json',
    ]);
    expect(solves[0]).toMatchObject({ state: 'interrupted' });
    const id = solves[0]?.id ?? '';
    const shown = await home.ok(['solve', 'show', id]);
    expect(shown).toContain('Attempt 1: failed');
    expect(shown).toContain('Learned: It squares.');
    expect(shown).toContain('Attempt 2: interrupted');
    expect(await home.ok(['solve', 'resume', '-q', id])).toBe('def double(n): return 2 * n\n');
    // The first code and its reflection were paid for once; only the answer that never came is asked for again.
    expect(server.calls).toHaveLength(before + 4);
    const again = await home.run(['solve', 'resume', id]);
    expect(again.stderr).toContain('has ended');
  });

  it('CRY-4: crystals are listed, shown, pinned and removed', async () => {
    const { crystals } = await home.json<{ crystals: { key: string }[] }>(['crystals', 'ls', '--json']);
    expect(crystals).toHaveLength(1);
    const id = crystals[0]?.key ?? '';
    expect(await home.ok(['crystals', 'show', id])).toContain('return 2 * n');
    expect(await home.ok(['crystals', 'pin', id])).toContain('pinned');
    expect(await home.ok(['crystals', 'rm', id])).toContain('removed');
    expect(await home.ok(['crystals', 'ls'])).toContain('No crystals yet');
  });

  it('reports errors without showing the key', async () => {
    const nothing = await home.run(['solve']);
    expect(nothing.code).toBe(2);
    const unread = await home.run(['solve', '--tests', 'nowhere.py', 'anything']);
    expect(unread.stderr).toContain('No such file: nowhere.py');
    const unknown = await home.run(['solve', 'show', 'nothing']);
    expect(unknown.stderr).toContain('There is no solve');
    const config = await home.ok(['config']);
    expect(config).toContain('providers.services');
    expect(config).not.toContain(key);
    const none = await home.run(['solve', 'anything'], '', { GEODE_PROVIDERS_SERVICES: '{}' });
    expect(none.stderr).toContain('SERVICE/MODEL');
    expect(none.code).toBe(1);
  });
});

/** A run cleans up after killed hosts while its code runs. */
async function reapRunsOf(pid: number, home: SandboxHome): Promise<void> {
  const folder = join(home.folder, '.local/state/geode/sandboxes');
  await patiently(async () => {
    await home.ok(['run', 'python', '-c', 'import time; time.sleep(3)']);
    const names = await readdir(folder).catch(() => []);
    return !names.some((name) => name.startsWith(`run-${pid}-`));
  }, 'nothing is left of the killed host');
}
