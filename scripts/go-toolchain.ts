/**
 * The Go compiler that builds the guest. A recent Go of the machine is used as it is. Elsewhere a pinned toolchain comes
 * from the Go module proxy, once: GOPROXY is honoured, and every byte is checked against the pinned hash before anything
 * is written. The toolchain stays in the user's cache, in a folder that only a complete one gets.
 */
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { filesInZip, type ZippedFile } from './zip.ts';

export interface Go {
  /** Paths of the programs. */
  readonly go: string;
  readonly gofmt: string;
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
}

/** A toolchain of the module proxy. Its hash is the `h1:` of Go's checksum database. */
export interface Toolchain {
  readonly version: string;
  readonly platform: string;
  readonly h1: string;
}

const VERSION = 'go1.26.8';
const toolchains: readonly Toolchain[] = [
  { version: VERSION, platform: 'linux-amd64', h1: 'h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM=' },
  { version: VERSION, platform: 'linux-arm64', h1: 'h1:sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc=' },
];

const FETCH_TIMEOUT_MS = 600_000;

/** Throws an Error that says what to do. `module` is the folder of the go.mod whose version counts. */
export async function findGo(module: string, print: (line: string) => void = console.error): Promise<Go> {
  const found = installedGo(module);
  if (typeof found !== 'string') return found;
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  const toolchain = toolchains.find((each) => each.platform === platform);
  const needed = /^go (\S+)$/m.exec(readFileSync(join(module, 'go.mod'), 'utf8'))?.[1] ?? '';
  const install = `Install Go ${needed} or newer (https://go.dev/dl), then run this again.`;
  if (toolchain === undefined) throw new Error(`The guest cannot be built: ${found}\n${install}`);
  try {
    return await pinnedGo(toolchain, cacheFolder(), print);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `The guest cannot be built: ${found}\nGo ${toolchain.version.slice(2)} could not be fetched either:\n${reason}\n` +
        `${install} Or set GOPROXY to a Go module proxy that this machine reaches (file:///… works too).`,
    );
  }
}

/** The environment of every Go command: nothing is fetched, nothing depends on the machine. */
function goEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=readonly', GOWORK: 'off' };
}

/** The reason as text, if Go is missing or too old. */
function installedGo(module: string): Go | string {
  const env = goEnvironment();
  const ask = (...args: string[]) => spawnSync('go', args, { cwd: module, env, encoding: 'utf8' });
  // Reads go.mod, which `go env` of an old Go does not.
  const listed = ask('list', '-m');
  if (listed.error) return 'Go is not installed.';
  if (listed.status !== 0) return `the installed Go does not do (${listed.stderr.trim()}).`;
  return { go: 'go', gofmt: 'gofmt', env, version: ask('env', 'GOVERSION').stdout.trim() };
}

/** The toolchain in `cache`, fetched when it is not there. */
export async function pinnedGo(
  toolchain: Toolchain,
  cache: string,
  print: (line: string) => void,
): Promise<Go> {
  const folder = join(cache, `${toolchain.version}.${toolchain.platform}`);
  if (!existsSync(folder)) await fetchInto(folder, toolchain, print);
  const env = goEnvironment();
  return {
    go: join(folder, 'bin/go'),
    gofmt: join(folder, 'bin/gofmt'),
    version: toolchain.version,
    env: { ...env, GOROOT: folder, GOCACHE: env.GOCACHE ?? join(cache, 'go-build') },
  };
}

function cacheFolder(): string {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir() || tmpdir(), '.cache');
  return join(cache, 'geode', 'go');
}

async function fetchInto(folder: string, toolchain: Toolchain, print: (line: string) => void): Promise<void> {
  const proxies = proxiesOf(process.env.GOPROXY ?? configuredProxies());
  if (proxies.length === 0) throw new Error('  GOPROXY names no proxy.');
  const reasons: string[] = [];
  for (const proxy of proxies) {
    try {
      print(`Fetching ${toolchain.version} from ${hostOf(proxy)} to build the guest (70 MB, once) …`);
      const path = `golang.org/toolchain/@v/v0.0.1-${toolchain.version}.${toolchain.platform}.zip`;
      const files = filesInZip(await download(`${proxy}/${path}`));
      const h1 = hashOf(files);
      if (h1 !== toolchain.h1) throw new Error(`the hash is ${h1} instead of ${toolchain.h1}`);
      unpack(files, folder);
      return;
    } catch (error) {
      reasons.push(`  ${hostOf(proxy)}: ${reasonOf(error)}`);
    }
  }
  throw new Error(reasons.join('\n'));
}

/** The settings of `go env -w`, if an old Go is installed. */
function configuredProxies(): string {
  const result = spawnSync('go', ['env', 'GOPROXY'], { cwd: '/', env: goEnvironment(), encoding: 'utf8' });
  return result.stdout?.trim() || 'https://proxy.golang.org';
}

export function proxiesOf(list: string): string[] {
  return list
    .split(/[,|]/)
    .map((proxy) => proxy.trim().replace(/\/+$/, ''))
    .filter((proxy) => proxy !== '' && proxy !== 'direct' && proxy !== 'off');
}

function hostOf(proxy: string): string {
  return URL.canParse(proxy) ? new URL(proxy).host || proxy : proxy;
}

async function download(address: string): Promise<Buffer> {
  const url = new URL(address);
  if (url.protocol === 'file:') return readFileSync(url);
  // A company's own certificate counts here as it does for Go.
  setDefaultCACertificates([...getCACertificates('default'), ...getCACertificates('system')]);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const response = await fetch(url, {
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
    headers: username === '' ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
  });
  if (!response.ok) throw new Error(`answered ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

/** Go's `h1`: the hash of a list of the hashes of all files, in the order of their names. */
function hashOf(files: readonly ZippedFile[]): string {
  const lines = [...files]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, read }) => `${createHash('sha256').update(read()).digest('hex')}  ${name}\n`);
  return `h1:${createHash('sha256').update(lines.join('')).digest('base64')}`;
}

/** Only after the hash was right: from then on the names are those that Go published. */
function unpack(files: readonly ZippedFile[], folder: string): void {
  const draft = `${folder}.${randomBytes(6).toString('hex')}`;
  try {
    for (const { name, read } of files) {
      // Below `golang.org/toolchain@VERSION/`. A module's zip cannot hold a go.mod, so Go publishes `_go.mod`.
      const path = name
        .split('/')
        .slice(2)
        .join('/')
        .replace(/(^|\/)_go\.mod$/, '$1go.mod');
      if (isOfTests(path)) continue;
      const target = join(draft, path);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, read());
      if (/^(bin|pkg\/tool)\//.test(path)) chmodSync(target, 0o755);
    }
    mkdirSync(dirname(folder), { recursive: true });
    renameSync(draft, folder);
  } catch (error) {
    // Another build may have been faster.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function isOfTests(path: string): boolean {
  return path.startsWith('test/') || path.endsWith('_test.go') || path.includes('/testdata/');
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
