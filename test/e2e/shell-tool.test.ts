import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { defaultShellPolicy } from '../../src/seams/shell-policy.ts';
import { shellTool } from '../../src/shell/tool.ts';
import { type Harness, openHarness } from '../contracts/harness.ts';

const { bubblewrap } = inject('engines');

describe.skipIf(!bubblewrap.available)(
  `the shell tool in a sandbox${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  () => {
    let harness: Harness;
    let sandbox: Sandbox;
    beforeAll(async () => {
      harness = await openHarness(bubblewrapRuntime);
      sandbox = await harness.open();
    });
    afterAll(() => harness.close());
    const tool = () => shellTool(sandbox, defaultShellPolicy);

    it('SH-1: runs in the workspace of its caller', async () => {
      const { text, result } = await tool().run({ command: 'pwd; echo made > here; ls' });
      expect(text).toBe('/workspace\nhere');
      expect(result.exitCode).toBe(0);
      expect(await sandbox.files.readText('here')).toBe('made\n');
    });

    it('SH-1 SH-5: a timeout kills the command and is reported', async () => {
      const { text, result } = await tool().run({ command: 'echo begun; sleep 1000', timeout: 5 });
      expect(result.timedOut).toBe(true);
      expect(text).toMatch(/^begun\n\[Timed out after/);
    });

    it('SH-1: a timeout out of range is refused, not clamped', async () => {
      for (const timeout of [0, -1, 601, Number.NaN]) {
        await expect(tool().run({ command: 'true', timeout })).rejects.toMatchObject({
          code: 'invalid_input',
        });
      }
    });

    it('SH-3: commands that the policy blocks never reach the sandbox', async () => {
      await sandbox.files.write('witness', 'x');
      await expect(tool().run({ command: 'rm witness; cat /etc/shadow' })).rejects.toMatchObject({
        code: 'command_blocked',
        details: { rule: expect.any(String) },
      });
      expect(await sandbox.files.exists('witness')).toBe(true);
    });

    it('SH-5: stdout, then stderr, then the exit code', async () => {
      const { text } = await tool().run({ command: 'echo err >&2; echo out; exit 3' });
      expect(text).toBe('out\n--- stderr ---\nerr\n[Exit code: 3]');
    });
  },
);
