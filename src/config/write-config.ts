import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { GeodeError, reasonOf } from '../base/errors.ts';
import { replaceFile } from '../base/replace-file.ts';
import type { Machine } from '../machine/machine.ts';
import { defaultConfigText } from './default-file.ts';
import { loadConfig } from './load.ts';

/** The text of the config file; where there is none, the commented defaults. */
export async function configText(path: string, machine: Machine): Promise<string> {
  try {
    const text = await readFile(path, 'utf8');
    return text.trim() === '' ? defaultConfigText(machine) : text;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')
      return defaultConfigText(machine);
    throw new GeodeError('invalid_config', `The config ${path} cannot be read: ${reasonOf(cause)}.`, {
      cause,
    });
  }
}

/** A config that would be refused never takes the place of one that works. */
export async function writeConfig(path: string, text: string, machine: Machine): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await replaceFile(path, async (draft) => {
      await writeFile(draft, text, { mode: 0o600 });
      await loadConfig(machine, draft);
    });
  } catch (cause) {
    if (cause instanceof GeodeError) throw cause;
    throw new GeodeError('invalid_config', `The config ${path} cannot be written: ${reasonOf(cause)}.`, {
      cause,
      hint: 'Choose a file that you may write with --config or GEODE_CONFIG.',
    });
  }
}
