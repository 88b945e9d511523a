/** `npm start`: untrusted Python in a sealed sandbox, once allowed and once refused, and where to go from there. */
import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { createApp } from '../src/app.ts';
import { thisHost } from '../src/config/host.ts';
import { loadConfig } from '../src/config/load.ts';
import { isGeodeError } from '../src/core/errors.ts';
import type { RuntimeName } from '../src/core/runtime.ts';
import { formatResult } from '../src/shell/format.ts';

const host = thisHost();
installMissing();
const { config } = await loadConfig(host);
const app = createApp(config, host, (message) => console.error(`warning: ${message}`));

await using runs = app.runs({ pool: 'off' });
const runtime = await firstRun();
await show("import urllib.request; urllib.request.urlopen('http://example.com')", runtime);
await show("print(open('/etc/shadow').read())", runtime);
console.log(
  'The walls: src/runtimes decides what a sandbox is made of, src/core/sandbox.ts says what it promises.',
);
console.log('Next: bin/geode.js --help, bin/geode.js status, bin/geode.js run python -c "print(1)"');

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

/** In the configured runtime; where its image cannot be had, in bubblewrap, which needs none. */
async function firstRun(): Promise<RuntimeName | undefined> {
  try {
    await show('print(6 * 7)');
    return undefined;
  } catch (error) {
    if (!isGeodeError(error, 'image_missing') && !isGeodeError(error, 'pull_failed')) throw error;
    console.log(`${error.message}\nMeanwhile, in bubblewrap:\n`);
    await show('print(6 * 7)', 'bubblewrap');
    return 'bubblewrap';
  }
}

async function show(code: string, where?: RuntimeName): Promise<void> {
  const result = await runs.run(code, 'python', { timeoutMs: 10_000, ...(where && { runtime: where }) });
  console.log(
    `>>> ${code}      (runtime ${result.sandbox.runtime}, isolation grade ${result.sandbox.grade})`,
  );
  const lines = formatResult(result).split('\n');
  // The end of a traceback is what tells.
  console.log(`${lines.length > 6 ? lines.slice(-2).join('\n') : lines.join('\n')}\n`);
}
