import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/command-list.ts';
import { sitDown } from './person.ts';
import { geodeProgram, patience, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const has = (shell: string) => spawnSync(shell, ['--version']).status === 0;
const lines = (text: string) => text.split('\n').filter(Boolean);

describe('CLI-1: completion', patience, () => {
  let home: SandboxHome;
  let folder = '';
  let env: Record<string, string> = {};
  const script = (shell: string) => join(folder, `geode.${shell}`);
  beforeAll(async () => {
    home = await sandboxHome({ GEODE_RUNTIME_NAME: 'native' });
    folder = await mkdtemp(join(tmpdir(), 'geode-completion-'));
    await writeFile(join(folder, 'geode'), `#!/bin/sh\nexec ${process.execPath} ${geodeProgram} "$@"\n`);
    await chmod(join(folder, 'geode'), 0o755);
    env = { ...home.env, PATH: `${folder}:${home.env.PATH}` };
    for (const shell of ['bash', 'zsh', 'fish'])
      await writeFile(script(shell), await home.ok(['completion', shell]));
    await home.ok(['sandbox', 'create', 'kitchen']);
  }, 300_000);
  afterAll(async () => {
    await home[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const inBash = (...typed: readonly string[]) => {
    const words = typed.map((word) => `'${word}'`).join(' ');
    const asked = `source '${script('bash')}'; COMP_WORDS=(geode ${words}); COMP_CWORD=${typed.length}; _geode; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', asked], { env, encoding: 'utf8' });
    expect(stderr).toBe('');
    return lines(stdout);
  };

  it('bash: commands, their second words, options, steps and sandboxes', () => {
    const first = [...new Set(commands.map(({ name }) => name.split(' ')[0]))];
    expect(inBash('')).toEqual(expect.arrayContaining(first));
    const second = commands.flatMap(({ name }) => (name.startsWith('sandbox ') ? [name.slice(8)] : []));
    expect(inBash('sandbox', '').sort()).toEqual([...second].sort());
    expect(inBash('sandbox', 'exec', '--ti')).toEqual(['--timeout']);
    expect(inBash('sandbox', 'exec', 'kit')).toEqual(['kitchen']);
    expect(inBash('onboard', 'ch')).toEqual(['channels']);
    // Behind -- and behind an option with a value come files.
    expect(inBash('sandbox', 'exec', 'kitchen', '--', 'kit')).toEqual([]);
    expect(inBash('status', '--config', 'kit')).toEqual([]);
  });

  it('bash: at a terminal, with the tab key', async () => {
    await using person = sitDown(['bash', '--norc', '-i'], { env, columns: 160 });
    person.type(`PS1='ready> '; source ${script('bash')}; echo done\r`);
    await person.sees(/^done$/m);
    person.type('geode sandbox re\t\t');
    await person.sees(/rename\s+restore\s+resume/);
    person.type('\x15geode sandbox undo ki\t');
    await person.sees('geode sandbox undo kitchen');
    person.type('\x15exit 0\r');
    await person.over;
  });

  it.skipIf(!has('zsh'))(
    'zsh: at a terminal, with the tab key (skipped where zsh is not installed)',
    async () => {
      await using person = sitDown(['zsh', '-f', '-i'], { env, columns: 160 });
      person.type(
        `PS1='ready> '; autoload -Uz compinit; compinit -D -u; source ${script('zsh')}; echo done\r`,
      );
      await person.sees(/^done$/m);
      person.type('geode sandbox re\t\t');
      await person.sees(/rename .*-- Rename a sandbox/);
      person.type('\x15geode sandbox undo ki\t');
      await person.sees('geode sandbox undo kitchen');
      person.type('\x15geode status --js\t');
      await person.sees('geode status --json');
      person.type('\x15exit 0\r');
      await person.over;
    },
  );

  it.skipIf(!has('fish'))('fish: what complete -C answers (skipped where fish is not installed)', () => {
    const inFish = (typed: string) => {
      const asked = `source '${script('fish')}'; complete -C '${typed}'`;
      const { stdout, stderr } = spawnSync('fish', ['--no-config', '-c', asked], { env, encoding: 'utf8' });
      expect(stderr).toBe('');
      return lines(stdout).map((line) => line.split('\t')[0] ?? '');
    };
    expect(inFish('geode onb')).toEqual(['onboard']);
    expect(inFish('geode sandbox re')).toEqual(expect.arrayContaining(['rename', 'restore', 'resume']));
    expect(inFish('geode sandbox exec --ti')).toEqual(['--timeout']);
    expect(inFish('geode sandbox undo ki')).toEqual(['kitchen']);
    expect(inFish('geode agent --')).toContain('--message');
    expect(inFish('geode agent ls --')).not.toContain('--message');
  });
});
