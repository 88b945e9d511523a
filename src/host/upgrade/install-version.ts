/** Installs another version of Geode with npm, in a folder of its own. The running one is not touched. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Cancel, throwIfCancelled } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import type { Machine } from '../../machine/machine.ts';
import { type InstalledVersion, programOf, versionIn, versionsFolder } from './versions.ts';

const packageName = 'geode-home';
const deadlineMs = 600_000;
/** A number, a range or a tag for npm; it cannot name another package. */
const versionPattern = /^[A-Za-z0-9.+~^-]{1,64}$/;

export interface Wanted {
  /** The argument of npm install: a package with its version, or the path of a tarball. */
  readonly spec: string;
  /** Undefined for a tarball, whose version shows when it is unpacked. */
  readonly version: string | undefined;
}

/** `word` is a version, a tag of the registry, or a tarball (`….tgz`). Installs nothing. */
export async function findVersion(
  word: string,
  { cwd, signal }: { readonly cwd: string } & Cancel,
): Promise<Wanted> {
  if (word.endsWith('.tgz')) {
    const path = resolve(cwd, word);
    if (existsSync(path)) return { spec: path, version: undefined };
    throw new GeodeError('invalid_input', `There is no file ${path}.`);
  }
  if (!versionPattern.test(word) || word.startsWith('-'))
    throw new GeodeError('invalid_input', `${JSON.stringify(word)} is not a version of Geode.`, {
      hint: 'Give a version such as 0.3.0, or the path of a package file (.tgz).',
    });
  const spec = `${packageName}@${word}`;
  const found = parsedJson(await npm(['view', spec, 'version', '--json'], { cwd: '/', signal }));
  // For a range npm lists every version, the newest last.
  const version = Array.isArray(found) ? found.at(-1) : found;
  if (typeof version === 'string') return { spec: `${packageName}@${version}`, version };
  throw new GeodeError('upgrade_failed', `The npm registry has no ${spec}.`, {
    hint: `See the versions: npm view ${packageName} versions`,
  });
}

/** All or nothing: a folder with the name of a version is complete. */
export async function installVersion(
  { spec, version }: Wanted,
  machine: Machine,
  { signal }: Cancel = {},
): Promise<InstalledVersion> {
  const folder = versionsFolder(machine);
  const before = version === undefined ? undefined : installedIn(join(folder, version));
  if (before !== undefined) return before;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeInterrupted(folder);
  const draft = join(folder, `.${process.pid}.partial`);
  try {
    await mkdir(draft, { mode: 0o700 });
    await writeFile(join(draft, 'package.json'), '{"private":true}\n');
    const options = ['--prefix', draft, '--ignore-scripts', '--no-audit', '--no-fund', '--save-exact'];
    await npm(['install', ...options, spec], { cwd: draft, signal });
    const made = installedIn(draft);
    if (made === undefined)
      throw new GeodeError('upgrade_failed', `${spec} is no package of Geode with the command geode.`);
    const place = join(folder, made.version);
    const existing = installedIn(place);
    if (existing !== undefined) return existing;
    await rename(draft, place);
    return installedIn(place) ?? made;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

function installedIn(place: string): InstalledVersion | undefined {
  const folder = join(place, 'node_modules', packageName);
  const version = versionIn(folder);
  if (version === undefined || !existsSync(programOf({ version, folder }))) return undefined;
  return { version, folder };
}

/** The caller holds the lock of upgrades, so these are of a process that was killed. */
async function removeInterrupted(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.endsWith('.partial')) await rm(join(folder, name), { recursive: true, force: true });
}

async function npm(
  args: readonly string[],
  { cwd, signal }: { readonly cwd: string } & Cancel,
): Promise<string> {
  try {
    const options = { cwd, signal, timeout: deadlineMs, maxBuffer: 64 * 1024 ** 2 };
    return (await promisify(execFile)('npm', [...args], options)).stdout;
  } catch (error) {
    throwIfCancelled(signal, 'The installation');
    throw npmFailure(args, error);
  }
}

function npmFailure([verb]: readonly string[], error: unknown): GeodeError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT')
    return new GeodeError('upgrade_failed', 'npm is not installed, which fetches the new version.', {
      hint: 'Install npm, or give the path of a package file after installing npm.',
      cause: error,
    });
  const output = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
  const lines = output.split('\n').map((line) => line.replace(/^npm (error|ERR!) ?/, '').trim());
  const reason = lines.find((line) => line !== '' && !/^(code|errno|syscall|path|npm warn)\b/i.test(line));
  return new GeodeError('upgrade_failed', `npm ${verb} failed: ${(reason ?? output).slice(0, 300)}`, {
    hint: 'Nothing was changed. Check the version and the registry (npm config get registry), then repeat it.',
    cause: error,
  });
}
