/**
 * Builds the programs of guest/cmd into guest/dist: the guest, which runs inside every sandbox, and two that run on
 * the host: workspace keeps snapshots, images unpacks layers. All are static.
 *
 *   node scripts/build-guest.ts          for this machine's architecture
 *   node scripts/build-guest.ts --all    for every architecture
 *
 * Nothing is built when nothing changed. The result depends on the sources, the version and the compiler
 * only, so two machines make the same bytes.
 */
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { arch } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findGo, type Go } from './go-toolchain.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = join(root, 'guest');
const dist = join(sources, 'dist');
const record = join(dist, 'build.json');

const architectures = ['amd64', 'arm64'] as const;
type Architecture = (typeof architectures)[number];

const programs = ['guest', 'workspace', 'images'] as const;
type Program = (typeof programs)[number];

/** The content of guest/dist/build.json: for each architecture the fingerprint of its sources. */
type Built = Partial<Record<Architecture, string>>;

/** Brings the programs up to date and returns their paths. Throws an Error that says what to install. */
export async function buildGuest(wanted: readonly Architecture[] = [thisArchitecture()]): Promise<string[]> {
  const version = packageVersion();
  const go = await findGo(sources);
  const fingerprint = createHash('sha256')
    .update(`${go.version}\n${version}\n${hashOfSources()}`)
    .digest('hex');
  mkdirSync(dist, { recursive: true });
  return wanted.flatMap((architecture) => {
    const built = programs.map((program) => programPath(program, architecture));
    if (!built.every(existsSync) || readRecord()[architecture] !== fingerprint) {
      for (const program of programs) compile(go, program, architecture, version);
      writeRecord({ ...readRecord(), [architecture]: fingerprint });
    }
    return built;
  });
}

/** Where a program for an architecture is, once it is built. */
export function programPath(program: Program, architecture: Architecture = thisArchitecture()): string {
  return join(dist, `${program}-linux-${architecture}`);
}

/** The folder of the Go module. */
export const guestSources = sources;

function thisArchitecture(): Architecture {
  return arch() === 'arm64' ? 'arm64' : 'amd64';
}

function compile({ go, env }: Go, program: Program, architecture: Architecture, version: string): void {
  const target = programPath(program, architecture);
  const temporary = `${target}.${randomBytes(6).toString('hex')}`;
  const flags = `-s -w -buildid= -X main.version=${version}`;
  const result = spawnSync(
    go,
    ['build', '-trimpath', '-buildvcs=false', '-ldflags', flags, '-o', temporary, `./cmd/${program}`],
    {
      cwd: sources,
      env: { ...env, CGO_ENABLED: '0', GOOS: 'linux', GOARCH: architecture },
      stdio: ['ignore', 'inherit', 'pipe'],
      encoding: 'utf8',
    },
  );
  if (result.status !== 0) {
    rmSync(temporary, { force: true });
    throw new Error(`${program} does not compile for ${architecture}:\n${result.stderr}`);
  }
  renameSync(temporary, target);
}

function packageVersion(): string {
  const parsed: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  if (typeof parsed === 'object' && parsed !== null && 'version' in parsed) return String(parsed.version);
  throw new Error('package.json has no version.');
}

function hashOfSources(): string {
  const hash = createHash('sha256');
  for (const path of sourceFiles(sources)) {
    hash
      .update(`${path.slice(sources.length)}\0`)
      .update(readFileSync(path))
      .update('\0');
  }
  return hash.digest('hex');
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return path === dist ? [] : sourceFiles(path);
      const built = /\.(go|s)$/.test(entry.name) && !entry.name.endsWith('_test.go');
      return built || /^go\.(mod|sum)$/.test(entry.name) ? [path] : [];
    });
}

function readRecord(): Built {
  try {
    const parsed: unknown = JSON.parse(readFileSync(record, 'utf8'));
    if (typeof parsed !== 'object' || parsed === null) return {};
    const known = Object.entries(parsed).filter(
      ([name, value]) => isArchitecture(name) && typeof value === 'string',
    );
    return Object.fromEntries(known);
  } catch {
    return {};
  }
}

function isArchitecture(name: string): name is Architecture {
  return architectures.some((architecture) => architecture === name);
}

function writeRecord(built: Built): void {
  const temporary = `${record}.${randomBytes(6).toString('hex')}`;
  writeFileSync(temporary, `${JSON.stringify(built, null, 2)}\n`);
  renameSync(temporary, record);
}

if (import.meta.main) {
  try {
    const paths = await buildGuest(process.argv.includes('--all') ? architectures : undefined);
    for (const path of paths) console.log(path);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
