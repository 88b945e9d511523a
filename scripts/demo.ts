/** `npm start`: untrusted Python in a sealed sandbox, once allowed and once refused, and where to go from there. */
import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { createApp } from '../src/app.ts';
import { thisHost } from '../src/config/host.ts';
import { loadConfig } from '../src/config/load.ts';
import { isGeodeError } from '../src/core/errors.ts';
import type { Sandbox } from '../src/core/sandbox.ts';
import { formatResult } from '../src/shell/format.ts';

const host = thisHost();
installMissing();
const { config } = await loadConfig(host);
const app = createApp(config, host, (message) => console.error(`warning: ${message}`));

await using sandbox = await openAny();
console.log(`A sandbox is open: runtime ${sandbox.runtime}, isolation grade "${sandbox.grade}".\n`);
await show(sandbox, 'print(6 * 7)');
await show(sandbox, "import urllib.request; urllib.request.urlopen('http://example.com')");
await show(sandbox, "print(open('/etc/shadow').read())");
console.log(
  'The walls: src/runtimes decides what a sandbox is made of, src/core/sandbox.ts says what it promises.',
);
console.log('Next: bin/geode.js --help, bin/geode.js status, bin/geode.js exec -- uname -a');

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

/** The configured runtime; where that has no image yet, bubblewrap, which needs none. */
async function openAny(): Promise<Sandbox> {
  try {
    return await app.open();
  } catch (error) {
    if (!isGeodeError(error, 'image_missing')) throw error;
    console.log(`${error.message} ${error.hint} Meanwhile: bubblewrap.`);
    return app.open({}, { runtime: 'bubblewrap' });
  }
}

async function show(room: Sandbox, code: string): Promise<void> {
  console.log(`>>> ${code}`);
  const result = await room.exec({ argv: ['python3', '-c', code], timeoutMs: 10_000 });
  const lines = formatResult(result).split('\n');
  // The end of a traceback is what tells.
  console.log(`${lines.length > 6 ? lines.slice(-2).join('\n') : lines.join('\n')}\n`);
}
