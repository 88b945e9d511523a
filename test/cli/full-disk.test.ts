import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { patience, patiently, sandboxHome } from './sandbox-home.ts';

const { bubblewrap } = inject('engines');
const root = process.getuid?.() === 0;
const reason = !root
  ? ' (skipped: needs root to mount a small disk)'
  : bubblewrap.available
    ? ''
    : ` (skipped: ${bubblewrap.reason})`;

describe.skipIf(!root || !bubblewrap.available)(`a full state disk${reason}`, patience, () => {
  it('is reported by sandbox create and by a running sandbox exec, and loses no output', async () => {
    await using disk = await smallDisk();
    await using home = await sandboxHome({
      GEODE_RUNTIME_NAME: 'bubblewrap',
      GEODE_SANDBOX_STATE_DIR: disk.path,
      GEODE_SANDBOX_DISK: 'null',
    });
    // Remove the files at the end, which needs free space.
    using _room = { [Symbol.dispose]: () => disk.empty() };
    await home.ok(['sandbox', 'create', 'full']);
    // Waits for a word on stdin, and then writes more than the disk holds.
    const command = 'echo ready; read word; head -c 100000 /dev/zero | tr "\\0" x; echo; echo last';
    const child = home.start('sandbox', 'exec', '--timeout', '0', 'full', '--', 'sh', '-c', command);
    const ended = once(child, 'close');
    const said = { stdout: '', stderr: '' };
    child.stdout.on('data', (piece) => {
      said.stdout += piece;
    });
    child.stderr.on('data', (piece) => {
      said.stderr += piece;
    });
    await patiently(async () => said.stdout === 'ready\n', 'the command');
    disk.fill();
    child.stdin.write('go\n');
    await ended;
    expect([child.exitCode, said.stderr]).toEqual([
      125,
      expect.stringMatching(
        /no space left for its journal.*\n.*Free space on the disk of `sandbox.state_dir`/,
      ),
    ]);
    const refused = await home.run(['sandbox', 'create', 'second']);
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^geode: The disk .* is full.*\n {2}Free space on the disk of `sandbox.state_dir`/,
      ),
    });
    disk.empty();
    const { journals } = await home.json<{ journals: { processId: string }[] }>(['sandbox', 'logs', 'full']);
    const id = journals[0]?.processId ?? '';
    const whole = await home.ok(['sandbox', 'logs', '-f', 'full', id]);
    expect([whole.length, whole.slice(-6)]).toEqual([
      'ready\n'.length + 100_001 + 'last\n'.length,
      '\nlast\n',
    ]);
  });
});

interface SmallDisk extends AsyncDisposable {
  readonly path: string;
  fill(): void;
  empty(): void;
}

/** A file system of 16 MB, removed at the end also after a failure. */
async function smallDisk(): Promise<SmallDisk> {
  const path = await mkdtemp(join(tmpdir(), 'geode-small-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=700', 'tmpfs', path]);
  const filler = (name: string) => join(path, `filler-${name}`);
  const names = ['large', 'small'] as const;
  return {
    path,
    fill() {
      for (const [name, bytes] of [
        ['large', 64 * 1024],
        ['small', 1],
      ] as const) {
        const content = Buffer.alloc(bytes);
        try {
          for (;;) writeFileSync(filler(name), content, { flag: 'a' });
        } catch (error) {
          expect(error).toMatchObject({ code: 'ENOSPC' });
        }
      }
    },
    empty() {
      for (const name of names) rmSync(filler(name), { force: true });
    },
    async [Symbol.asyncDispose]() {
      execFileSync('umount', ['--lazy', path]);
      await rm(path, { recursive: true, force: true });
    },
  };
}
