import { editConfig } from '../config/edit.ts';
import { configPath, loadConfig, type Setting } from '../config/load.ts';
import { masked } from '../config/masked.ts';
import { configText, writeConfig } from '../config/write-config.ts';
import { type CliContext, exitCodes, text } from './command.ts';

/** Writes one setting to the config file, or removes it, and shows the value that is in use then. */
export async function changeSetting(
  { name, value, meaning }: Omit<Setting, 'source'>,
  { machine, values, json, out, err }: CliContext,
): Promise<number> {
  const path = configPath(machine, text(values, 'config'));
  const before = await configText(path, machine);
  const change = { path: name.split('.'), value, meaning };
  await writeConfig(path, editConfig(before, [change]), machine);
  const now = (await loadConfig(machine, path)).settings.find((each) => each.name === name);
  const shown = now && masked(now);
  if (json) out(JSON.stringify({ ...now, value: shown }));
  else out(`${name} is ${JSON.stringify(shown) ?? 'not set'}`);
  if (now?.source.from === 'variable') err(`geode: the variable ${now.source.name} overrides ${path}`);
  return exitCodes.done;
}
