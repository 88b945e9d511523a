import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'jsonc-parser';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defaultConfigText } from '../../src/config/default-file.ts';
import { configSchema } from '../../src/config/schema.ts';
import { thisMachine } from '../../src/machine/machine.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { geode } from './geode.ts';

describe('geode config', { timeout: 300_000 }, () => {
  let home: ReturnType<typeof temporaryFolder>;
  beforeEach(() => {
    home = temporaryFolder();
  });
  afterEach(() => home[Symbol.dispose]());
  const file = () => join(home.path, '.config/geode/geode.json');
  const typed = (args: readonly string[], env: Record<string, string> = {}) =>
    geode(['config', ...args], { home: home.path, env });

  it('sets, shows and unsets a setting in a commented file', async () => {
    expect((await typed(['path'])).stdout).toBe(`${file()}\n`);
    expect(await typed(['set', 'sandbox.memory', '1g'])).toMatchObject({ code: 0, stderr: '' });
    expect((await typed(['set', 'egress.allow', '["pypi"]'])).stdout).toBe('egress.allow is ["pypi"]\n');
    const text = readFileSync(file(), 'utf8');
    expect(text).toContain('//"runtime": {');
    expect(parse(text)).toEqual({ sandbox: { memory: '1g' }, egress: { allow: ['pypi'] } });
    expect((await typed(['get', 'sandbox.memory'])).stdout).toBe(`${1024 ** 3}\n`);
    expect((await typed(['get', 'egress.allow'])).stdout).toBe('["pypi"]\n');
    expect((await typed(['check'])).stdout).toContain('2 settings changed');
    await typed(['unset', 'sandbox.memory']);
    expect(parse(readFileSync(file(), 'utf8'))).toEqual({ sandbox: {}, egress: { allow: ['pypi'] } });
    const overridden = await typed(['set', 'sandbox.memory', '2g'], { GEODE_SANDBOX_MEMORY: '3g' });
    expect(overridden.stderr).toContain('the variable GEODE_SANDBOX_MEMORY overrides');
  });

  it('refuses an unknown setting or a wrong value, suggests the nearest setting, and keeps the file', async () => {
    await typed(['set', 'sandbox.memory', '1g']);
    const before = readFileSync(file(), 'utf8');
    const misspelt = await typed(['set', 'sandbox.memroy', '2g']);
    expect(misspelt.stderr).toContain(
      'There is no setting "sandbox.memroy".\n  Did you mean sandbox.memory?',
    );
    expect((await typed(['get', 'sandbx.memory'])).stderr).toContain('Did you mean sandbox.memory?');
    expect((await typed(['set', 'sandbox.memory', 'lots'])).code).toBe(1);
    expect(readFileSync(file(), 'utf8')).toBe(before);
    writeFileSync(file(), '{ "sandbox": { "memroy": "1g" } }');
    expect((await typed(['check'])).stderr).toContain('Did you mean sandbox.memory?');
    expect(await typed(['path'])).toMatchObject({ code: 0 });
  });

  it('edit saves valid text, and keeps refused text for the next edit', async () => {
    const editor = join(home.path, 'editor');
    const withEditor = (script: string) => {
      writeFileSync(editor, `#!/bin/sh\n${script}\n`);
      chmodSync(editor, 0o755);
      return typed(['edit'], { EDITOR: editor });
    };
    expect((await withEditor(`echo '{"sandbox":{"pids":"many"}}' > "$1"`)).stderr).toContain(
      'geode config edit',
    );
    expect((await typed(['get', 'sandbox.pids'])).stdout).toBe('');
    expect(await withEditor(`sed -i 's/"many"/7/' "$1"`)).toMatchObject({ code: 0 });
    expect((await typed(['get', 'sandbox.pids'])).stdout).toBe('7\n');
    expect((await withEditor('exit 3')).stderr).toContain('nothing was changed');
    const none = await typed(['edit'], { EDITOR: '/no/editor' });
    expect(none.stderr).toContain('cannot be started');
  });

  it('the commented file contains the defaults when uncommented', () => {
    const machine = thisMachine();
    const text = defaultConfigText(machine);
    const uncommented = text.replaceAll(/^ {2}\/\//gm, '  ');
    const parsed: unknown = parse(uncommented, [], { allowTrailingComma: true });
    expect(configSchema(machine).parse(parsed)).toEqual(configSchema(machine).parse({}));
    expect(configSchema(machine).parse(parse(text))).toEqual(configSchema(machine).parse({}));
  });
});
