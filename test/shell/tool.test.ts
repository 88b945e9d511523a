import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { GeodeError } from '../../src/base/errors.ts';
import { defaultShellPolicy } from '../../src/seams/shell-policy.ts';
import { type ShellWorkspace, shellTool } from '../../src/shell/tool.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'geode-shell-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Real processes in a folder of their own, as the native runtime starts them, and what each was asked for. */
function localWorkspace() {
  const asked: { readonly argv: readonly string[]; readonly timeoutMs?: number }[] = [];
  const workspace: ShellWorkspace = {
    async exec(command, options = {}) {
      asked.push(command);
      const [program, ...args] = command.argv;
      const child = spawn(program, args, {
        cwd: folder,
        signal: options.signal,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [stdout, stderr, [exitCode, signal]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close'),
      ]);
      const facts = { timedOut: false, oomKilled: false, durationMs: 1, dropped: { stdout: 0, stderr: 0 } };
      return { exitCode, signal, stdout, stderr, ...facts };
    },
  };
  return { asked, tool: shellTool(workspace, defaultShellPolicy) };
}

async function refusalOf(work: Promise<unknown>): Promise<GeodeError> {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof GeodeError)) throw new Error(`Not refused: ${thrown}`);
  return thrown;
}

describe('the shell tool', () => {
  it('SH-1: runs the command with /bin/sh in the workspace and formats the result', async () => {
    const { asked, tool } = localWorkspace();
    const { text: shown, result } = await tool.run({ command: 'pwd; echo oops >&2; exit 3' });
    expect(shown).toBe(`${folder}\n--- stderr ---\noops\n[Exit code: 3]`);
    expect(result.exitCode).toBe(3);
    expect(asked).toEqual([{ argv: ['/bin/sh', '-c', 'pwd; echo oops >&2; exit 3'], timeoutMs: 60_000 }]);
  });

  it('SH-1: takes a timeout in seconds up to 600', async () => {
    const { asked, tool } = localWorkspace();
    await tool.run({ command: 'true', timeout: 600 });
    await tool.run({ command: 'true', timeout: 0.5 });
    expect(asked.map((command) => command.timeoutMs)).toEqual([600_000, 500]);
  });

  it.each([
    { command: 'true', timeout: 601 },
    { command: 'true', timeout: 0 },
    { command: 'true', timeout: -1 },
    { command: 'true', timeout: Number.NaN },
    { command: 'true', timeout: Number.POSITIVE_INFINITY },
    { command: '' },
  ])('SH-1: refuses %o and starts nothing', async (input) => {
    const { asked, tool } = localWorkspace();
    expect((await refusalOf(tool.run(input))).code).toBe('invalid_input');
    expect(asked).toEqual([]);
  });

  it('SH-1: refuses input without a command, or with fields that it does not know', () => {
    const { tool } = localWorkspace();
    expect(tool.input.safeParse({}).success).toBe(false);
    expect(tool.input.safeParse({ command: 'ls', shell: 'fish' }).success).toBe(false);
  });

  it('SH-3: refuses a forbidden command with its rule, and starts nothing', async () => {
    const { asked, tool } = localWorkspace();
    const refusal = await refusalOf(tool.run({ command: 'ls && cat /etc/shadow' }));
    expect(refusal.code).toBe('command_blocked');
    expect(refusal.message).toContain('`cat /etc/shadow` (key-files)');
    expect(refusal.details).toEqual({
      rule: 'key-files',
      reason: 'It would read /etc/shadow, which contains secrets.',
      at: 'cat /etc/shadow',
    });
    expect(asked).toEqual([]);
  });

  it('SH-1: a cancelled call starts nothing, and a cancel reaches the command', async () => {
    const { asked, tool } = localWorkspace();
    expect((await refusalOf(tool.run({ command: 'true' }, { signal: AbortSignal.abort() }))).code).toBe(
      'cancelled',
    );
    expect(asked).toEqual([]);
    const cancel = new AbortController();
    const running = tool.run({ command: 'sleep 60' }, { signal: cancel.signal });
    cancel.abort();
    await expect(running).rejects.toThrow();
  });
});
