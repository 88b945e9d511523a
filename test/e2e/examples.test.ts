import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';

const { bubblewrap, docker } = inject('engines');
const inExamples = (name: string) => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));

// Every step of a script starts a program: on a busy machine that takes its time.
describe('examples', { timeout: 300_000 }, () => {
  it.skipIf(!bubblewrap.available)('SBX-6: come-back.sh finds its server after kill -9 (bubblewrap)', () =>
    comeBack({ GEODE_RUNTIME_NAME: 'bubblewrap' }),
  );

  it.skipIf(!docker.available)('SBX-6: come-back.sh finds its server after kill -9 (docker)', () =>
    comeBack({
      GEODE_RUNTIME_NAME: 'docker',
      GEODE_DOCKER_HOST: `unix://${docker.available ? docker.socket : ''}`,
      GEODE_DOCKER_IMAGE: 'geode-test/python:1',
    }),
  );

  it.skipIf(!bubblewrap.available)(
    'GW-1: watch-telegram.ts allows Ann, and answers her after kill -9 (bubblewrap)',
    async () => {
      const settings = { GEODE_RUNTIME_NAME: 'bubblewrap' };
      const { code, stdout, stderr } = await run(
        process.execPath,
        [inExamples('watch-telegram.ts')],
        settings,
      );
      expect({ code, stderr }).toMatchObject({ code: 0 });
      expect(stdout).toContain('✓ telegram is @geode_test_bot\n');
      expect(stdout).toMatch(/Ann: Hello\?\nBot: I do not know you yet\./);
      expect(stdout).toContain('(a file of 55 bytes)');
      expect(stdout).toContain('[Allow once] [Allow this session] [Deny]');
      const after = stdout.slice(stdout.indexOf('$ kill -9'));
      expect(after).toMatch(/and so on\. The end\.\n[\s\S]*Session: 4 turns/);
    },
  );
});

async function comeBack(settings: Readonly<Record<string, string>>): Promise<void> {
  const { code, stdout, stderr } = await run(inExamples('come-back.sh'), [], settings);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toMatch(/Host of the sandboxes that stay: process \d+ \(geode host\)/);
  const after = stdout.slice(stdout.indexOf('$ kill -9'));
  expect(after).toContain('ended in the middle of this command');
  expect(after).toMatch(/you are visitor 1\n[\s\S]*you are visitor 2\n/);
  expect(after).toMatch(/ running +.* python3 server\.py\n/);
  expect(after).toContain('\nopen\nvisitor 1\nvisitor 2\n');
  expect(after).toMatch(/\/come-back: removed\n$/);
}

async function run(program: string, args: readonly string[], settings: Readonly<Record<string, string>>) {
  const home = await mkdtemp(join(tmpdir(), 'geode-example-'));
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    TMPDIR: home,
    NO_COLOR: '1',
    GEODE_SANDBOX_RUN_DIR: join(home, 'run'),
    ...settings,
  };
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await closed;
  await rm(home, { recursive: true, force: true });
  return { code: child.exitCode, stdout, stderr };
}
