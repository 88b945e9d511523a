import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { running } from './beside.ts';
import { geodeProgram, patience, patiently, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap } = inject('engines');
const reason = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;
const flood = 'echo $$; exec yes';

describe('a reader that goes away', patience, () => {
  let home: SandboxHome;
  beforeAll(async () => {
    home = await sandboxHome({ GEODE_RUNTIME_NAME: 'native' });
  });
  afterAll(() => home[Symbol.asyncDispose]());

  it.each([
    ['run', ['run', '--runtime', 'native', '-q', 'shell', '-c', flood]],
    ['exec', ['exec', '--runtime', 'native', '-q', '--', 'sh', '-c', flood]],
  ])('ends geode %s at once and quietly, and the code in the sandbox too', async (_, args) => {
    const { stdout, stderr } = await headOf(home, args);
    const [pid, code] = stdout.split('\n');
    expect({ code, stderr }).toEqual({ code: '141', stderr: '' });
    await patiently(async () => isGone(Number(pid)), 'the end of the code');
  });

  it.each([
    ['--help', ['--help']],
    ['run --help', ['run', '--help']],
    ['config', ['config']],
    ['memory ls', ['memory', 'ls']],
    ['sandbox ls', ['sandbox', 'ls']],
    ['an unknown command', ['nothing']],
  ])('ends geode %s', async (_, args) => {
    expect(await toNobody(home, args)).toEqual({ stdout: '141\n', stderr: '' });
  });

  it('that stops reading does not stop an interrupt from ending a command', async () => {
    const child = home.start('exec', '--runtime', 'native', '-q', '--', 'sh', '-c', 'echo $$ >&2; exec yes');
    child.stdout.pause();
    const ended = once(child, 'exit');
    let said = '';
    child.stderr.on('data', (piece) => {
      said += piece;
    });
    await patiently(async () => said.includes('\n'), 'the command');
    child.kill('SIGINT');
    await ended;
    child.stdout.destroy();
    expect(child.exitCode).toBe(130);
    await patiently(async () => isGone(Number(said)), 'the end of the command');
  });
});

describe.skipIf(!bubblewrap.available)(
  `a reader that goes away, of a sandbox that stays${reason}`,
  patience,
  () => {
    let home: SandboxHome;
    beforeAll(async () => {
      home = await sandboxHome({ GEODE_RUNTIME_NAME: 'bubblewrap' });
      await home.ok(['sandbox', 'create', 'pipe']);
    });
    afterAll(() => home[Symbol.asyncDispose]());

    it('ends sandbox exec and its process', async () => {
      expect(await headOf(home, ['sandbox', 'exec', 'pipe', '--', 'yes'])).toEqual({
        stdout: 'y\n141\n',
        stderr: '',
      });
      await patiently(async () => (await running(home, 'pipe')).length === 0, 'the end of its process');
    });

    it('ends sandbox logs -f and shell --list, and leaves the process running', async () => {
      const ticking = 'while :; do echo tick; sleep 0.05; done';
      const id = (await home.ok(['sandbox', 'exec', '-b', 'pipe', '--', 'sh', '-c', ticking])).trim();
      for (const args of [
        ['sandbox', 'logs', '-f', 'pipe', id],
        ['sandbox', 'logs', '-f', '--raw', 'pipe', id],
      ])
        expect(await headOf(home, args)).toEqual({ stdout: 'tick\n141\n', stderr: '' });
      expect(await toNobody(home, ['shell', '--list', 'pipe'])).toEqual({ stdout: '141\n', stderr: '' });
      expect(await running(home, 'pipe')).toEqual([ticking]);
    });
  },
);

interface Said {
  readonly stdout: string;
  readonly stderr: string;
}

/** The first line, and then the exit code. */
function headOf(home: SandboxHome, args: readonly string[]): Promise<Said> {
  return inBash(home, args, '"$0" "$@" | head -n 1; echo $PIPESTATUS');
}

/** The exit code with a pipe for both outputs, whose reader is gone before geode starts. */
async function toNobody(home: SandboxHome, args: readonly string[]): Promise<Said> {
  const gone = join(home.folder, `gone-${randomUUID()}`);
  const writer = `{ until [ -e ${gone} ]; do sleep 0.02; done; exec "$0" "$@" 2>&1; }`;
  return await inBash(home, args, `${writer} | { exec 0<&-; touch ${gone}; }; echo $PIPESTATUS`);
}

async function inBash(home: SandboxHome, args: readonly string[], script: string): Promise<Said> {
  const child: ChildProcess = spawn('bash', ['-c', script, process.execPath, geodeProgram, ...args], {
    env: home.env,
    cwd: home.folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([
    child.stdout === null ? '' : text(child.stdout),
    child.stderr === null ? '' : text(child.stderr),
  ]);
  return { stdout, stderr };
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
