/** The options of every command that opens a sandbox, and how they are read. */

import { GeodeError, reasonOf } from '../../base/errors.ts';
import type { Machine } from '../../machine/machine.ts';
import { checkLimits, type Limits, parseSize } from '../../seams/limits.ts';
import type { ExitFacts } from '../../seams/process.ts';
import { type RuntimeName, runtimeNames } from '../../seams/runtime.ts';
import { type CliOption, type CliValues, exitCodes, signalCode, text, texts } from '../command.ts';
import { wrongUsage } from './values.ts';

export const sandboxOptions = {
  runtime: {
    type: 'string',
    value: 'NAME',
    description: `one of ${runtimeNames.join(', ')}; default: from the config`,
  },
  memory: { type: 'string', value: 'SIZE', description: 'memory limit: 256m, 1g, or none' },
  disk: { type: 'string', value: 'SIZE', description: 'disk limit of the workspace: 500m, 10g, or none' },
  env: {
    type: 'string',
    short: 'e',
    multiple: true,
    value: 'NAME[=VALUE]',
    description: 'set a variable, or pass on one of yours by name; may be repeated',
  },
} as const satisfies Readonly<Record<string, CliOption>>;

export function runtimeFrom(values: CliValues): RuntimeName | undefined {
  const name = text(values, 'runtime');
  if (name === undefined) return undefined;
  const known = runtimeNames.find((candidate) => candidate === name);
  if (known !== undefined) return known;
  throw new GeodeError('invalid_input', `There is no runtime ${name}.`, {
    hint: `Use one of ${runtimeNames.join(', ')}.`,
    details: { usage: true },
  });
}

/** Only the given limits; the config or the runtime sets the others. */
export function limitsFrom(values: CliValues): Limits {
  return {
    ...limitFrom(values, 'memory', 'memoryBytes', parseSize),
    ...limitFrom(values, 'disk', 'diskBytes', parseSize),
    ...limitFrom(values, 'cpus', 'cpus', parseCpus),
  };
}

function limitFrom(
  values: CliValues,
  option: string,
  field: keyof Limits,
  parse: (given: string, field: string) => number,
): Limits {
  const given = text(values, option);
  if (given === undefined) return {};
  try {
    return checkLimits({ [field]: given === 'none' ? null : parse(given, `--${option}`) });
  } catch (error) {
    // As the option says it, not the field.
    const reason = reasonOf(error).replace(/^limits\.\w+/, `--${option}`);
    throw wrongUsage(reason.replace('null for no limit', '"none" for no limit'));
  }
}

/** Parses `64m` or `2g` for an option that is not a sandbox limit. */
export function sizeFrom(given: string, option: string): number {
  try {
    return parseSize(given, option);
  } catch (error) {
    throw wrongUsage(reasonOf(error).replace(', or null for no limit', ''));
  }
}

function parseCpus(given: string, field: string): number {
  if (/^\d+(\.\d+)?$/.test(given)) return Number(given);
  throw wrongUsage(`${field} ${given} is not a number of CPUs such as 0.5 or 2, or "none" for no limit`);
}

export function envFrom(values: CliValues, machine: Machine): Readonly<Record<string, string>> {
  return Object.fromEntries(texts(values, 'env').map((setting) => pair(setting, machine)));
}

/** `NAME` alone takes the value from here, so that a secret need not stand on a command line. */
function pair(setting: string, machine: Machine): readonly [string, string] {
  const at = setting.indexOf('=');
  if (at > 0) return [setting.slice(0, at), setting.slice(at + 1)];
  const value = at === 0 ? undefined : machine.variable(setting);
  if (value !== undefined) return [setting, value];
  throw new GeodeError(
    'invalid_input',
    `--env ${setting} is neither NAME=VALUE nor the name of a variable that is set.`,
    {
      details: { usage: true },
    },
  );
}

export function timeoutFrom(values: CliValues): number | null {
  const given = text(values, 'timeout') ?? '60';
  const seconds = /^\d+(\.\d+)?$/.test(given) ? Number(given) : Number.NaN;
  if (Number.isNaN(seconds)) {
    throw new GeodeError(
      'invalid_input',
      `--timeout ${text(values, 'timeout')} is not a number of seconds.`,
      { details: { usage: true } },
    );
  }
  return seconds === 0 ? null : seconds * 1000;
}

export function exitCodeOf({ exitCode, signal, timedOut }: ExitFacts): number {
  if (timedOut) return exitCodes.timedOut;
  if (exitCode !== null) return exitCode;
  return signalCode(signal ?? '');
}
