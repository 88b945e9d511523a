import { execFile } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type TemporaryFolder, temporaryFolder } from '../temporary-folder.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

describe('the commands in one file', { timeout: 120_000 }, () => {
  let folder: TemporaryFolder;
  const path = (name: string) => join(folder.path, name);
  const node = async (script: string, args: readonly string[] = [], env = {}) => {
    const ended = await promisify(execFile)(process.execPath, [path(script), ...args], {
      env: { PATH: process.env.PATH, HOME: folder.path, GEODE_TYPED_AS: 'geode', ...env },
      timeout: 100_000,
    }).catch((error: { stdout: string; stderr: string; code: number }) => error);
    return { exitCode: 0, ...('code' in ended ? { exitCode: ended.code } : {}), ...ended };
  };
  /** Changes the bundle, so that each command from it prints a line on stderr. */
  const markBundle = () => {
    const { main } = z
      .object({ main: z.string() })
      .parse(JSON.parse(readFileSync(path('build/cli/contents.json'), 'utf8')));
    appendFileSync(path(`build/cli/${main}`), "\nprocess.stderr.write('from the bundle\\n');\n");
  };
  const help = 'src/cli/help.ts';
  const change = (from: string, to: string) => {
    const text = readFileSync(path(help), 'utf8');
    expect(text).toContain(from);
    writeFileSync(path(help), text.replace(from, to));
  };

  beforeAll(async () => {
    folder = temporaryFolder();
    for (const name of ['src', 'bin', 'scripts', 'package.json'])
      cpSync(join(root, name), path(name), { recursive: true });
    symlinkSync(join(root, 'node_modules'), path('node_modules'));
    expect((await node('scripts/build-cli.ts')).exitCode).toBe(0);
    markBundle();
  }, 120_000);
  afterAll(() => folder[Symbol.dispose]());

  it('serve exactly the commands that the bundle contains', async () => {
    const shown = await node('bin/geode.js', ['--help']);
    expect(shown).toMatchObject({ exitCode: 0, stderr: 'from the bundle\n' });
    expect(shown.stdout).toContain('Usage: geode COMMAND');
    expect((await node('bin/geode.js', ['sandbox', 'ls', '--help'])).stderr).toBe('from the bundle\n');
    expect(await node('bin/geode.js', ['sandbox', 'undo', '--help'])).toMatchObject({
      exitCode: 0,
      stderr: '',
    });
  });

  it('know an error of a module that they load from its source', async () => {
    const refused = await node('bin/geode.js', ['sandbox', 'ls'], { GEODE_SANDBOX_LINGER: 'nonsense' });
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain('sandbox.linger');
    expect(refused.stderr).not.toContain('internal error');
  });

  it('never run once a source has changed, also when its size and its time are as before', async () => {
    const { atime, mtime, size } = statSync(path(help));
    change('Usage: geode COMMAND', 'Usage: geode command');
    utimesSync(path(help), atime, mtime);
    expect(statSync(path(help))).toMatchObject({ size, mtime });
    const shown = await node('bin/geode.js', ['--help']);
    expect(shown).toMatchObject({ exitCode: 0, stderr: '' });
    expect(shown.stdout).toContain('Usage: geode command');
  });

  it('are rebuilt only when a source has changed', async () => {
    change('Usage: geode', 'Used as: geode');
    await node('scripts/build-cli.ts');
    markBundle();
    const shown = await node('bin/geode.js', ['--help']);
    expect(shown.stderr).toBe('from the bundle\n');
    expect(shown.stdout).toContain('Used as: geode');
    await node('scripts/build-cli.ts');
    expect((await node('bin/geode.js', ['--help'])).stderr).toBe('from the bundle\n');
  });
});
