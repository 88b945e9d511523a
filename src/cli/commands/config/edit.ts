import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { GeodeError, isGeodeError, reasonOf } from '../../../base/errors.ts';
import { configPath } from '../../../config/load.ts';
import { configText, writeConfig } from '../../../config/write-config.ts';
import { type CliCommand, exitCodes, text } from '../../command.ts';

export const configEditCommand: CliCommand = {
  name: 'config edit',
  summary: 'Edit the config file, and check it before it is used',
  usage: '',
  examples: [['geode config edit', 'opens $VISUAL or $EDITOR (default: vi)']],
  options: {},
  async run({ machine, values, json, out }) {
    const path = configPath(machine, text(values, 'config'));
    const draft = `${path}.draft`;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // A draft that was refused before is continued.
    await writeFile(draft, await configText(path, machine), { mode: 0o600, flag: 'wx' }).catch(unlessThere);
    await openEditor(machine.variable('VISUAL') ?? machine.variable('EDITOR') ?? 'vi', draft);
    try {
      await writeConfig(path, await readFile(draft, 'utf8'), machine);
    } catch (error) {
      if (!isGeodeError(error)) throw error;
      throw new GeodeError(error.code, error.message, {
        cause: error,
        hint: `${error.hint} Your text is kept; continue with: geode config edit`,
      });
    }
    await rm(draft, { force: true });
    out(json ? JSON.stringify({ path }) : `Saved ${path}`);
    return exitCodes.done;
  },
};

function unlessThere(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
}

/** The setting may have options of the editor: `code --wait`. */
async function openEditor(editor: string, file: string): Promise<void> {
  const [program = 'vi', ...options] = editor.split(/\s+/).filter(Boolean);
  const hint = 'Set EDITOR to an editor that is installed, or use: geode config set NAME VALUE';
  try {
    const child = spawn(program, [...options, file], { stdio: 'inherit' });
    const [code] = await once(child, 'exit');
    if (code === 0) return;
    throw new GeodeError('invalid_input', `The editor ${program} ended with ${code}; nothing was changed.`, {
      hint,
    });
  } catch (cause) {
    if (isGeodeError(cause)) throw cause;
    throw new GeodeError('invalid_input', `The editor ${program} cannot be started: ${reasonOf(cause)}.`, {
      cause,
      hint,
    });
  }
}
