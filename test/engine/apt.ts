import { existsSync, readFileSync } from 'node:fs';
import { command } from './command.ts';
import { inTurn } from './in-turn.ts';

/** Another package manager at work is waited for; a dead mirror is not. */
const aptOptions = [
  '-q',
  '-o=DPkg::Lock::Timeout=300',
  '-o=Acquire::http::Timeout=20',
  '-o=Acquire::https::Timeout=20',
];

/** Whether this machine lets us install and start engines at all. */
export function canStartEngines(): boolean {
  return whyNoPackages() === null;
}

/** Why packages cannot be installed here, or null when they can. */
export function whyNoPackages(): string | null {
  if (!existsSync('/usr/bin/apt-get')) return 'this is not Debian or Ubuntu (no apt-get)';
  if (process.getuid?.() !== 0) return 'this is not root';
  return null;
}

let updated = false;

/**
 * Installs what is missing. The package lists are fetched only when the ones at hand do not do, and once; a third
 * party's broken list must not stop us, so only the installation decides. Call it under the setup lock.
 */
export const installPackages = inTurn(async (packages: readonly string[]): Promise<void> => {
  const missing = missingPackages(packages);
  if (missing.length === 0) return;
  const wanted = ['install', '--yes', '--no-install-recommends', ...missing];
  if (updated) {
    await aptGet(wanted);
    return;
  }
  await aptGet(wanted).catch(async () => {
    updated = true;
    await aptGet(['update']).catch(() => undefined);
    await aptGet(wanted);
  });
});

function aptGet(args: readonly string[]): Promise<string> {
  return command('apt-get', [...aptOptions, ...args], {
    timeoutMs: 600_000,
    env: { DEBIAN_FRONTEND: 'noninteractive' },
  });
}

function missingPackages(packages: readonly string[]): string[] {
  const status = readFileSync('/var/lib/dpkg/status', 'utf8');
  return packages.filter((name) => !status.includes(`\nPackage: ${name}\nStatus: install ok installed\n`));
}
