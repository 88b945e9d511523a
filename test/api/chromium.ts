/** Debian's Chromium, installed on demand where possible; otherwise the reason why it is missing. */
import { execFile } from 'node:child_process';
import { access, constants, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';
import { reasonOf } from '../../src/base/errors.ts';

const run = promisify(execFile);
const executablePath = '/usr/bin/chromium';

/** Null when there is a browser. */
export async function reasonForNoChromium(): Promise<string | null> {
  if (await isThere()) return null;
  const system = await readFile('/etc/os-release', 'utf8').catch(() => '');
  if (process.getuid?.() !== 0 || !/^ID=debian$/m.test(system))
    return `no ${executablePath}, and not root on Debian`;
  try {
    await install().catch(async () => {
      // The lists of packages may be too old, or missing.
      await run('apt-get', ['update']);
      await install();
    });
    return null;
  } catch (thrown) {
    return `chromium cannot be installed: ${reasonOf(thrown).split('\n')[0]}`;
  }
}

function install() {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // Another program may be installing as well; apt waits for its lock.
  const wait = ['-o', 'DPkg::Lock::Timeout=300'];
  return run('apt-get', [...wait, 'install', '-y', '--no-install-recommends', 'chromium'], { env });
}

export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath, args: ['--no-sandbox'], timeout: 120_000 });
}

async function isThere(): Promise<boolean> {
  return access(executablePath, constants.X_OK).then(
    () => true,
    () => false,
  );
}
