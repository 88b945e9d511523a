/**
 * `npm start` and `npx geode-home`: untrusted Python in a sealed sandbox, with what its walls refuse; then the host,
 * with a link to the dashboard and a key, until Ctrl-C. `npm start -- --once` ends when all of it has been shown.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isGeodeError } from '../src/base/errors.ts';
import { localUser } from '../src/base/identity.ts';
import { program, version } from '../src/cli/version.ts';
import { loadConfig } from '../src/config/load.ts';
import { openWithoutSandboxes, startGateway } from '../src/host/gateway.ts';
import { createGeode } from '../src/host/geode.ts';
import type { OpenHost } from '../src/host/open-host.ts';
import { openServingHost } from '../src/host/serving-host.ts';
import { type KeyStore, scopes } from '../src/identity/keys.ts';
import { thisMachine } from '../src/machine/machine.ts';
import type { Runs } from '../src/runs/index.ts';
import type { RunResult } from '../src/seams/run-result.ts';
import type { RuntimeName } from '../src/seams/runtime.ts';

const { values } = parseArgs({
  options: { once: { type: 'boolean', default: false }, port: { type: 'string' } },
});
/** Label of the keys that each start creates. */
const KEY_LABEL = 'made by npm start';
/** Code that a sealed sandbox runs, and what it answers when the walls hold. */
const proofs = [
  { shown: 'print(6 * 7)', code: 'print(6 * 7)', told: ({ stdout }: RunResult) => stdout.trim() },
  {
    shown: 'urlopen("http://example.com")',
    code: 'import urllib.request; urllib.request.urlopen("http://example.com")',
    told: ({ denied }: RunResult) => denied?.[0] && `blocked: no rule allows ${denied[0].host}`,
  },
  {
    shown: 'open("/etc/shadow")',
    code: 'open("/etc/shadow")',
    told: ({ stderr }: RunResult) =>
      /FileNotFoundError/.test(stderr) ? 'not there: the sandbox has its own files' : undefined,
  },
] as const;

const host = thisMachine();
installMissing();
const loaded = await loadConfig(host);
const { config } = loaded;
const opened = new AsyncDisposableStack();
let whole: OpenHost | undefined;
// Not `await using`: a bundler makes an ordinary variable of that at the top of a module.
try {
  whole = await openWhole();
  await showSandboxes();
  await serve();
} finally {
  await opened.disposeAsync();
}

/** Every part of a host; undefined where another process is the host of this machine's sandboxes. */
async function openWhole(): Promise<OpenHost | undefined> {
  try {
    const options = { as: 'geode gateway', tends: 'idle', lingerMs: null, logLevel: 'warn' } as const;
    const serving = await openServingHost({ ...options, loaded, machine: host, version, program });
    return opened.use(serving).host;
  } catch (error) {
    if (!isGeodeError(error, 'ledger_held')) throw error;
    return undefined;
  }
}

async function showSandboxes(): Promise<void> {
  const app = createGeode(config, host, (message) => console.error(`warning: ${message}`));
  const runs = whole?.runs ?? opened.use(app.runs({ pool: 'off' }));
  const runtime = await workingRuntime(runs);
  for (const { shown, code, told } of proofs) {
    const result = await run(runs, code, runtime);
    const { runtime: name, grade } = result.sandbox;
    if (shown === proofs[0].shown) console.log(`Geode ${version}, isolation: ${name} (${grade})\n`);
    // An unexpected answer is shown as it is.
    const answer = told(result) || result.stderr.trim().split('\n').at(-1) || result.stdout.trim();
    console.log(`  python  ${shown.padEnd(36)}${answer}`);
  }
  if (whole !== undefined && !values.once) await openDemo(whole, runtime);
}

function run(runs: Runs, code: string, runtime: RuntimeName | undefined): Promise<RunResult> {
  return runs.run(code, 'python', { timeoutMs: 10_000, ...(runtime && { runtime }) });
}

/** A sandbox to look at in the dashboard, gone with this program unless it was there before. */
async function openDemo({ sandboxes }: OpenHost, runtime: RuntimeName | undefined): Promise<void> {
  const own = sandboxes.of(localUser);
  if ((await own.list()).some(({ chat }) => chat === 'demo')) return;
  const sandbox = await own.getOrCreate('demo', runtime && { runtime });
  opened.defer(async () => void (await own.remove('demo')));
  await sandbox.files.write('hello.py', "print('Hello from a sealed sandbox')\n");
  await sandbox.exec({ argv: ['python3', 'hello.py'] });
}

/** The configured runtime; where its image cannot be had, bubblewrap, which needs none. */
async function workingRuntime(runs: Runs): Promise<RuntimeName | undefined> {
  try {
    await run(runs, '', undefined);
    return undefined;
  } catch (error) {
    if (!isGeodeError(error, 'image_missing') && !isGeodeError(error, 'pull_failed')) throw error;
    console.log(`${error.message}\nMeanwhile, in bubblewrap:\n`);
    return 'bubblewrap';
  }
}

async function serve(): Promise<void> {
  const port = values.once ? 0 : values.port === undefined ? undefined : Number(values.port);
  const served = whole ?? opened.use(openWithoutSandboxes(config, version));
  await using gateway = await startGateway(served, config, { port });
  const secret =
    config.gateway.auth === 'off' ? 'none-is-needed' : (gateway.secret ?? freshSecret(served.keys));
  const typed = host.variable('GEODE_TYPED_AS') ?? 'bin/geode.js';
  console.log('');
  if (gateway.link !== null && !values.once) console.log(`Dashboard   ${gateway.link}   (works once)`);
  console.log(`API         ${gateway.url}/reference   key: ${secret}`);
  if (values.once) return;
  console.log(`Stop with Ctrl-C. Next: ${typed} ${whole === undefined ? '--help' : 'shell demo'}`);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());
  await once(stop.signal, 'abort');
}

/** A key is shown once and then forgotten, so each start has its own, and the one before ends. */
function freshSecret(keys: KeyStore): string {
  for (const { id, label, revokedAt } of keys.list())
    if (label === KEY_LABEL && revokedAt === null) keys.revoke(id);
  return keys.create({ user: localUser, scopes, label: KEY_LABEL }).secret;
}

/** On Debian as root, what the demonstration needs is a package away. */
function installMissing(): void {
  const missing = Object.entries({ bwrap: 'bubblewrap', python3: 'python3-minimal' })
    .filter(([program]) => !isInstalled(program))
    .map(([, name]) => name);
  if (missing.length === 0 || host.uid !== 0 || !isInstalled('apt-get')) return;
  console.log(`Installing ${missing.join(' and ')} …`);
  const apt = (...args: string[]) =>
    execFileSync('apt-get', ['-qq', ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  try {
    apt('install', '-y', '--no-install-recommends', ...missing);
  } catch {
    apt('update');
    apt('install', '-y', '--no-install-recommends', ...missing);
  }
}

function isInstalled(program: string): boolean {
  return host.path.split(':').some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
