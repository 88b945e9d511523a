import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { patience } from '../cli/sandbox-home.ts';
import { begunBeforeTimeout, eventually } from '../contracts/harness.ts';
import { imageTag } from '../engine/index.ts';
import { testImages } from './harness.ts';

const { docker } = inject('engines');
const reason = docker.available ? '' : ` (skipped: ${docker.reason})`;
const geode = fileURLToPath(new URL('../../bin/geode.js', import.meta.url));

describe.skipIf(!docker.available)(`RUN-1: geode run${reason}`, patience, () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'geode-cli-'));
  });
  afterAll(async () => {
    await once(command('host', 'stop'), 'close');
    rmSync(folder, { recursive: true, force: true });
  });

  const command = (...args: readonly string[]) =>
    spawn(process.execPath, [geode, ...args], {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        GEODE_DOCKER_HOST: `unix://${docker.available ? docker.socket : ''}`,
        GEODE_RUNTIME_NAME: 'docker',
        GEODE_RUNS_IMAGES: JSON.stringify(testImages),
        GEODE_SANDBOX_STATE_DIR: join(folder, 'state'),
        GEODE_SANDBOX_RUN_DIR: join(folder, 'run'),
      },
    });
  const start = (...args: readonly string[]) => command('run', ...args);
  const run = async (args: readonly string[], stdin = '') => {
    const child = start(...args);
    child.stdin.end(stdin);
    const ended = once(child, 'close');
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    await ended;
    return { stdout, stderr, code: child.exitCode };
  };

  it('runs code from an argument, in a sandbox of grade container', async () => {
    const { stdout, stderr, code } = await run(['python', '-c', 'print(6*7)']);
    expect({ stdout, code }).toEqual({ stdout: '42\n', code: 0 });
    expect(stderr).toMatch(/^sandbox run-\S+: runtime docker, isolation grade container\n$/);
  });

  it('runs code from stdin, and passes the exit code on', async () => {
    const { stdout, code } = await run(['-q', 'shell', '-', 'word'], 'echo "got $1"; exit 3');
    expect({ stdout, code }).toEqual({ stdout: 'got word\n', code: 3 });
  });

  it('runs a file by its extension, with files in and artifacts out', async () => {
    writeFileSync(join(folder, 'in.txt'), 'from a file');
    const program =
      'import sys; open("out.txt", "w").write(open("x/in.txt").read() + sys.argv[1] + sys.stdin.read())';
    writeFileSync(join(folder, 'script.py'), program);
    const args = ['--file', 'in.txt=x/in.txt', '--artifact', 'out.txt', '-o', 'back', 'script.py', '!'];
    const { code, stderr } = await run(args, '?');
    expect({ code, saved: readFileSync(join(folder, 'back/out.txt'), 'utf8') }).toEqual({
      code: 0,
      saved: 'from a file!?',
    });
    expect(stderr).toContain(`saved ${join('back', 'out.txt')}`);
  });

  it('stops at the timeout with code 124 and the reason', async () => {
    const { stdout, stderr, code } = await begunBeforeTimeout(1_000, (timeoutMs) =>
      run(['--timeout', `${timeoutMs / 1_000}`, 'shell', '-c', 'echo so far; sleep 100']),
    );
    expect({ stdout, code }).toEqual({ stdout: 'so far\n', code: 124 });
    expect(stderr).toContain('timed out');
  });

  it('prints one JSON result for programs', async () => {
    const { stdout, code } = await run(['--json', '--memory', '64m', 'shell', '-c', 'echo hi']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'succeeded',
      stdout: 'hi\n',
      sandbox: { grade: 'container' },
    });
  });

  it('reports an image that cannot run the code, with exit code 125', async () => {
    const { stderr, code } = await run(['--image', 'python', 'python', '-c', '1']);
    expect({ code, stderr }).toEqual({ code: 125, stderr: expect.stringContaining('has no tag') });
    expect((await run(['--image', imageTag('busybox'), 'python', '-c', '1'])).code).toBe(125);
  });

  it('prints its usage with exit code 2 when arguments are missing', async () => {
    expect(await run(['python'])).toMatchObject({ code: 2, stderr: expect.stringContaining('-c CODE') });
    expect((await run([])).code).toBe(2);
  });

  it('ends on Ctrl-C with code 130, and leaves nothing', async () => {
    const child = start('shell', '-c', 'echo started; sleep 100');
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      said += piece;
    });
    const ended = once(child, 'close');
    await eventually(async () => said === 'started\n', 'the first word');
    child.kill('SIGINT');
    await ended;
    expect(child.exitCode).toBe(130);
  });
});
