import { readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { type ParseError, parse, printParseErrorCode } from 'jsonc-parser';
import type { z } from 'zod';
import { GeodeError, reasonOf } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { Machine } from '../machine/machine.ts';
import { configError } from './config-error.ts';
import { type Config, configSchema } from './schema.ts';

/** Where a value comes from: the default, a file, or a variable. */
type Source =
  | { readonly from: 'default' }
  | { readonly from: 'file'; readonly path: string }
  | { readonly from: 'variable'; readonly name: string };

export interface Setting {
  readonly name: string;
  readonly value: unknown;
  readonly source: Source;
  readonly meaning: string;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Path of the config file, whether or not it exists. */
  readonly file: { readonly path: string; readonly found: boolean };
  /** Every setting with its value and source, in the schema's order. */
  readonly settings: readonly Setting[];
}

/** `GEODE_` names that are not settings. */
const reserved = ['GEODE_CONFIG', 'GEODE_TYPED_AS'];

/** Where the config file is, or would be. */
export function configPath(machine: Machine, given?: string): string {
  return given ?? machine.overrides.GEODE_CONFIG ?? join(machine.configDir, 'geode.json');
}

/** Every setting with its default, in the schema's order. */
export function settingsOf(machine: Machine): readonly Omit<Setting, 'source'>[] {
  const schema = configSchema(machine);
  const defaults = schema.parse({});
  return leavesOf(schema).map(({ name, meaning }) => ({ name, meaning, value: valueAt(defaults, name) }));
}

/** The setting of that name. Throws `invalid_input` with the nearest name. */
export function settingNamed(name: string, machine: Machine): Omit<Setting, 'source'> {
  const all = settingsOf(machine);
  const found = all.find((setting) => setting.name === name);
  if (found !== undefined) return found;
  const near = nearest(
    name,
    all.map((setting) => setting.name),
  );
  throw new GeodeError('invalid_input', `There is no setting ${JSON.stringify(name)}.`, {
    hint: near === undefined ? 'List all settings: geode config' : `Did you mean ${near}?`,
  });
}

/** Defaults, then the file, then the environment; the merged result is checked once. */
export async function loadConfig(machine: Machine, given?: string): Promise<LoadedConfig> {
  const path = configPath(machine, given);
  const mustExist = given !== undefined || machine.overrides.GEODE_CONFIG !== undefined;
  const schema = configSchema(machine);
  const leaves = leavesOf(schema);
  checkHome(machine);
  const read = await readConfigFile(path, mustExist);
  const fromFile = read ?? {};
  const fromVariables = readVariables(machine, leaves);
  const raw = overlay(fromFile, fromVariables);
  const parsed = schema.safeParse(raw);
  const sourceOf = (name: string): Source => {
    const variable = fromVariables.find((entry) => entry.leaf.name === name);
    if (variable !== undefined) return { from: 'variable', name: variable.variable };
    return valueAt(fromFile, name) === undefined ? { from: 'default' } : { from: 'file', path };
  };
  if (!parsed.success) {
    throw configError(
      parsed.error,
      leaves.map((leaf) => leaf.name),
      (name) => describe(sourceOf(name), path),
    );
  }
  const settings = leaves.map(({ name, meaning }) => ({
    name,
    meaning,
    value: valueAt(parsed.data, name),
    source: sourceOf(name),
  }));
  return { config: parsed.data, settings, file: { path, found: read !== undefined } };
}

/** A relative home would create folders wherever a command is run. */
function checkHome({ home, variable }: Machine): void {
  if (isAbsolute(home)) return;
  const given = variable('HOME');
  throw new GeodeError(
    'invalid_config',
    given
      ? `HOME is ${JSON.stringify(given)}, which is not an absolute path.`
      : 'This user has no home folder.',
    { hint: 'Set HOME to the absolute path of a folder for config, state and cache.' },
  );
}

function describe(source: Source, path: string): string {
  return source.from === 'variable' ? source.name : path;
}

/** Undefined if there is no file and none is required. */
async function readConfigFile(path: string, mustExist: boolean): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT' && !mustExist) return undefined;
    throw new GeodeError('invalid_config', `The config ${path} cannot be read: ${reasonOf(cause)}.`, {
      cause,
    });
  }
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) {
    const before = text.slice(0, error.offset).split('\n');
    const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
    throw new GeodeError(
      'invalid_config',
      `The config ${path} is not valid JSON: ${printParseErrorCode(error.error)} at ${place}.`,
    );
  }
  return value ?? {};
}

interface Leaf {
  readonly name: string;
  readonly meaning: string;
  readonly variable: string;
}

function leavesOf(schema: ReturnType<typeof configSchema>): readonly Leaf[] {
  return Object.entries(schema.shape).flatMap(([section, inner]) => {
    const shape = inner.unwrap().shape as Readonly<Record<string, z.ZodType>>;
    return Object.entries(shape).map(([key, leaf]) => ({
      name: `${section}.${key}`,
      meaning: leaf.description ?? '',
      variable: `GEODE_${section}_${key}`.toUpperCase(),
    }));
  });
}

interface VariableValue {
  readonly leaf: Leaf;
  readonly variable: string;
  readonly value: unknown;
}

function readVariables(machine: Machine, leaves: readonly Leaf[]): readonly VariableValue[] {
  const names = Object.keys(machine.overrides).filter((name) => !reserved.includes(name));
  return names.map((variable) => {
    const leaf = leaves.find((candidate) => candidate.variable === variable);
    if (leaf === undefined) {
      const near = nearest(variable, [...reserved, ...leaves.map((candidate) => candidate.variable)]);
      throw new GeodeError('invalid_config', `The environment has ${variable}, which is not a setting.`, {
        hint: near === undefined ? 'Run `geode config` to see all settings.' : `Did you mean ${near}?`,
      });
    }
    return { leaf, variable, value: fromText(machine.overrides[variable] ?? '') };
  });
}

/** Numbers, booleans, null and lists as JSON; everything else as text. */
export function fromText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function overlay(base: unknown, variables: readonly VariableValue[]): unknown {
  if (variables.length === 0) return base;
  const sections: Record<string, unknown> = isRecord(base) ? { ...base } : {};
  for (const { leaf, value } of variables) {
    const [section = '', key = ''] = leaf.name.split('.');
    sections[section] = { ...(isRecord(sections[section]) ? sections[section] : {}), [key]: value };
  }
  return sections;
}

function valueAt(value: unknown, name: string): unknown {
  return name.split('.').reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
