import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../contracts/harness.ts';
import { EngineApi } from '../engine/engine-api.ts';
import { imageTag, startRegistry } from '../engine/index.ts';
import { patience } from './sandbox-home.ts';

const geode = fileURLToPath(new URL('../../bin/geode.js', import.meta.url));
const { bubblewrap, docker, registry } = inject('engines');

describe('the command line', patience, () => {
  let home = '';
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'geode-cli-'));
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  const start = (args: readonly string[], env: Record<string, string> = {}) =>
    spawn(process.execPath, [geode, ...args], {
      env: {
        HOME: home,
        GEODE_TYPED_AS: 'geode',
        PATH: process.env.PATH ?? '',
        GEODE_SANDBOX_RUN_DIR: join(home, 'run'),
        // Each command has other settings: none needs a host that the next one would replace.
        GEODE_SANDBOX_LINGER: '0',
        ...env,
      },
    });
  const run = async (
    args: readonly string[],
    { stdin = '', env = {} }: { stdin?: string; env?: Record<string, string> } = {},
  ) => {
    const child = start(args, env);
    child.stdin.on('error', () => {}).end(stdin);
    const [stdout, stderr, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise((resolve) => child.once('exit', resolve)),
    ]);
    return { stdout, stderr, code };
  };

  it('shows its commands, and help with examples for each', async () => {
    const { stdout, code } = await run(['--help']);
    expect(code).toBe(0);
    for (const name of ['exec', 'status', 'doctor', 'config']) {
      expect(stdout).toContain(name);
      expect((await run([name, '--help'])).stdout).toContain('Examples:');
    }
    expect(await run(['exce'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean "exec"?'),
    });
    expect(await run(['status', '--nope'])).toMatchObject({ code: 2 });
  });

  it.skipIf(!bubblewrap.available)(
    'runs a command in a sandbox, names its grade, passes on stdin, output and exit code',
    async () => {
      const result = await run(
        ['exec', '--runtime', 'bubblewrap', '--', 'sh', '-c', 'cat; echo err >&2; exit 9'],
        { stdin: 'in' },
      );
      expect(result).toMatchObject({
        stdout: 'in',
        code: 9,
        stderr: expect.stringMatching(/runtime bubblewrap, isolation grade os\nerr\n/),
      });
    },
  );

  it.skipIf(!docker.available)('runs in an image on docker', async () => {
    const env = { GEODE_DOCKER_HOST: `unix://${docker.available ? docker.socket : ''}` };
    const result = await run(
      [
        'exec',
        '--runtime',
        'docker',
        '--image',
        'geode-test/python:1',
        '--memory',
        '128m',
        '-e',
        'A=b',
        '--json',
        'python3',
        '-c',
        'import os; print(os.environ["A"])',
      ],
      { env },
    );
    expect(JSON.parse(result.stdout)).toMatchObject({
      stdout: 'b\n',
      exitCode: 0,
      runtime: 'docker',
      grade: 'container',
    });
  });

  it.skipIf(!docker.available || !registry.available)(
    'RUN-7: exec pulls a missing image and reports the pull',
    async () => {
      const engine = { socket: docker.available ? docker.socket : '' };
      await using store = await startRegistry();
      const image = await store.push(engine, imageTag('busybox'));
      const remove = () => new EngineApi(engine.socket).delete(`/images/${image}?force=1`).catch(() => {});
      const exec = (...args: string[]) =>
        run(['exec', '--runtime', 'docker', '--image', ...args], {
          env: { GEODE_DOCKER_HOST: `unix://${engine.socket}` },
        });
      await remove();
      try {
        expect(await exec(image, 'echo', 'here')).toMatchObject({
          code: 0,
          stdout: 'here\n',
          stderr: expect.stringMatching(new RegExp(`^pulling ${image}\nsandbox .* grade container\n$`)),
        });
        expect((await exec(image, 'true')).stderr).not.toContain('pulling');
      } finally {
        await remove();
      }
      expect(await exec(`${store.host}/none:1`, 'true')).toMatchObject({
        code: 125,
        stderr: expect.stringContaining('could not be pulled'),
      });
    },
  );

  it('exit codes: 124 timed out, 125 not run, 128+N killed, 2 wrong usage', async () => {
    const exec = (...args: string[]) => run(['exec', '--runtime', 'native', '-q', ...args]);
    expect(await exec('--timeout', '0.3', 'sleep', '100')).toMatchObject({
      code: 124,
      stderr: expect.stringContaining('timed out'),
    });
    expect(await exec('no-such-program')).toMatchObject({
      code: 125,
      stderr: expect.stringContaining('no-such-program'),
    });
    expect(await exec('sh', '-c', 'kill -TERM $$')).toMatchObject({ code: 143 });
    expect(await exec()).toMatchObject({ code: 2 });
    expect(await exec('--timeout', 'soon', 'true')).toMatchObject({ code: 2 });
    expect(await run(['exec', '--runtime', 'warp', 'true'])).toMatchObject({ code: 2 });
  });

  it('RT-4: refuses to run when the configured runtime is unavailable, with the reason', async () => {
    const result = await run(['exec', 'true'], {
      env: { GEODE_RUNTIME_NAME: 'docker', GEODE_DOCKER_HOST: 'unix:///nowhere.sock' },
    });
    expect(result).toMatchObject({ code: 125, stderr: expect.stringContaining('no engine listens') });
  });

  it('an interrupt stops the command and leaves nothing', async () => {
    const child = start(['exec', '--runtime', 'native', '-q', '--', 'sh', '-c', `echo $$; sleep 1000`]);
    child.stdin.end();
    let pid = '';
    child.stdout.on('data', (chunk) => {
      pid += chunk;
    });
    await eventually(async () => pid.includes('\n'), 'the command');
    child.kill('SIGINT');
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(130);
    await eventually(async () => isGone(Number(pid)), 'the end of the command');
  });

  it('a closed output pipe ends the command, and leaves nothing', async () => {
    const child = start(['exec', '--runtime', 'native', '-q', '--', 'sh', '-c', 'echo $$; exec yes']);
    child.stdin.end();
    const pid = await new Promise<string>((resolve) =>
      child.stdout.once('data', (chunk) => resolve(String(chunk).split('\n', 1)[0] ?? '')),
    );
    child.stdout.destroy();
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(141);
    await eventually(async () => isGone(Number(pid)), 'the end of the command');
  });

  it('RT-5: status names runtimes, grades and reasons, also as JSON', async () => {
    const { stdout } = await run(['status'], { env: { GEODE_DOCKER_HOST: 'unix:///nowhere.sock' } });
    expect(stdout).toMatch(/native\s+none/);
    expect(stdout).toContain('not available');
    expect(stdout).toMatch(/Command policy/);
    const { runtimes } = JSON.parse((await run(['status', '--json'])).stdout);
    expect(runtimes).toHaveLength(5);
  });

  it('CFG-1: config prints each value with its origin; a broken one is refused', async () => {
    const { stdout } = await run(['config'], { env: { GEODE_SANDBOX_MEMORY: '1g' } });
    expect(stdout).toMatch(/sandbox\.memory\s+1073741824\s+GEODE_SANDBOX_MEMORY/);
    for (const args of [['config'], ['config', '--json']]) {
      const masked = await run(args, { env: { GEODE_QDRANT_API_KEY: 'the-credential' } });
      expect(masked).toMatchObject({ code: 0, stdout: expect.stringContaining('***') });
      expect(masked.stdout).not.toContain('the-credential');
    }
    expect(await run(['config'], { env: { GEODE_SANDBOX_MEMORI: '1g' } })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('GEODE_SANDBOX_MEMORY'),
    });
  });

  it('doctor runs a command in every available runtime', async () => {
    const { stdout } = await run(['doctor', '--json'], {
      env: { GEODE_DOCKER_HOST: 'unix:///nowhere.sock' },
    });
    const checks: { name: string; state: string; fix?: string }[] = JSON.parse(stdout);
    expect(checks.find(({ name }) => name === 'native')).toMatchObject({ state: 'ok' });
    expect(checks.find(({ name }) => name === 'docker')).toMatchObject({
      state: 'warning',
      fix: expect.any(String),
    });
  });
});

/** A process that was killed has its id until its parent, the init of the machine, has taken its end. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
