import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { guestSources, programPath } from '../../scripts/build-guest.ts';
import { findGo } from '../../scripts/go-toolchain.ts';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import { testOptions } from '../contracts/harness.ts';
import { type TemporaryFolder, temporaryFolder } from '../temporary-folder.ts';

/** The guest of another version, built from the sources of this one. */
async function buildOther(folder: string, version: string, protocol?: number): Promise<string> {
  const sources = join(folder, `sources-${version}`);
  await cp(guestSources, sources, { recursive: true, filter: (path) => basename(path) !== 'dist' });
  if (protocol !== undefined) {
    const file = join(sources, 'internal/link/guest.go');
    const text = await readFile(file, 'utf8');
    const changed = text.replace(/^const Protocol = \d+$/m, `const Protocol = ${protocol}`);
    if (changed === text) throw new Error(`the protocol's number is not in ${file} any more`);
    await writeFile(file, changed);
  }
  const guestDir = join(folder, version);
  await mkdir(guestDir);
  const target = join(guestDir, basename(programPath('guest')));
  const flags = ['-trimpath', '-buildvcs=false', '-ldflags', `-X main.version=${version}`];
  const { go, env } = await findGo(guestSources);
  await promisify(execFile)(go, ['build', ...flags, '-o', target, './cmd/guest'], {
    cwd: sources,
    env: { ...env, CGO_ENABLED: '0' },
  });
  return guestDir;
}

describe('GL-6: a guest of another version', () => {
  let folder: TemporaryFolder;
  beforeAll(() => {
    folder = temporaryFolder();
    return () => folder[Symbol.dispose]();
  });

  it('GL-6: a sandbox from before an upgrade keeps its guest, processes and files', async () => {
    const guestDir = await buildOther(folder.path, '0.0.1');
    await using options = await testOptions();
    const older = nativeRuntime({ ...options, guestDir });
    const sandbox = await older.open({});
    const process = await sandbox.spawn({ argv: ['cat'], interactive: true });
    await sandbox.files.write('kept', 'yes');
    await sandbox.release();

    const upgraded = nativeRuntime(options);
    const again = await upgraded.adopt(sandbox.id);
    expect(await again.files.readText('kept')).toBe('yes');
    const joined = await again.attach(process.id);
    await joined.write('still here\n');
    await joined.closeStdin();
    let said = '';
    for await (const event of joined) if (event.type === 'stdout') said += Buffer.from(event.bytes);
    expect(said).toBe('still here\n');
    // Started again it has the guest of this version.
    await again.halt();
    const restarted = await upgraded.start(sandbox.id);
    expect(await restarted.files.readText('kept')).toBe('yes');
    await restarted.stop();
  }, 300_000);

  it('GL-6: refuses a guest with another protocol, with the command to run, and leaves no connection', async () => {
    const guestDir = await buildOther(folder.path, '99.0.0', 99);
    await using options = await testOptions();
    const runtime = nativeRuntime({ ...options, guestDir });
    await expect(runtime.open({})).rejects.toMatchObject({
      code: 'guest_version',
      hint: expect.stringContaining('Stop it and start it again'),
    });
    expect(await runtime.traces()).toEqual([]);
  }, 300_000);
});
