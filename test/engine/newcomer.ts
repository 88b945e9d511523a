/**
 * The machine of a new user: Debian with bubblewrap, Python, Node 20, npm 10 and npm 11, and
 * nothing else. It is a folder, and commands run in it with their own mounts and processes, as root or as a user.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { command } from './command.ts';
import { rootfsOf } from './rootfs.ts';

export interface Newcomer extends AsyncDisposable {
  /** Runs a shell script to its end; a failure carries what it wrote. */
  run(script: string, as: 'root' | 'user', npm: 'npm10' | 'npm11', registry: string): Promise<string>;
}

const USER = 1000;

/** `folder` must not be there yet, and is gone when it is disposed. */
export async function openNewcomer(folder: string): Promise<Newcomer> {
  const tar = await (await rootfsOf('newcomer')).tar();
  mkdirSync(folder, { recursive: true });
  await command('tar', ['xf', tar, '-C', folder, '--numeric-owner'], { timeoutMs: 120_000 });
  for (const name of ['proc', 'dev', 'sys', 'old']) mkdirSync(join(folder, name), { recursive: true });
  await command('chroot', [folder, 'useradd', '--create-home', '--uid', String(USER), 'ann'], {
    timeoutMs: 30_000,
  });
  return {
    async run(script, as, npm, registry) {
      // Bubblewrap refuses a plain chroot; this root is a mount that becomes the root of its namespace.
      const enter = `set -e
mount --make-rprivate /
mount --bind ${folder} ${folder}
mount --rbind /dev ${folder}/dev
mount --rbind /sys ${folder}/sys
mount -t proc proc ${folder}/proc
mount -t tmpfs tmpfs ${folder}/run
chmod 755 ${folder}/run
cd ${folder}
pivot_root . old
umount -l /old
exec "$@"`;
      const home = as === 'root' ? '/root' : '/home/ann';
      const environment = [
        `HOME=${home}`,
        `PATH=/opt/${npm}/programs:${home}/.npm-global/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`,
        `npm_config_registry=${registry}/`,
        'npm_config_update_notifier=false',
        ...(as === 'user' ? [`npm_config_prefix=${home}/.npm-global`] : []),
      ];
      const person = as === 'user' ? ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups'] : [];
      const inside = ['/usr/bin/env', '-i', ...environment, ...person, 'sh', '-c', `set -e; cd; ${script}`];
      const args = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', enter, 'sh', ...inside];
      return await command('unshare', args, { timeoutMs: 300_000 });
    },
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
