import { chmod, lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { workdir } from './spec.ts';

/** The user of commands, by the ids that files on the workspace's disk have. */
export interface SandboxUser {
  readonly uid: number;
  readonly gid: number;
}

/** The texts of /etc/passwd and /etc/group, one byte per character. Empty if there is no such file. */
export interface Accounts {
  readonly passwd: string;
  readonly group: string;
}

/** Larger than any in a real image. */
const largestAccountFile = 1024 ** 2;

export const noAccounts: Accounts = { passwd: '', group: '' };

/** Entries for missing account files, so that files of root and nobody have owner names. */
const usual: Accounts = {
  passwd: 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n',
  group: 'root:x:0:\nnogroup:x:65534:\n',
};

export function userName({ uid }: SandboxUser): string {
  return uid === 0 ? 'root' : 'sandbox';
}

/** Whether the image already has this user. */
export function namesUser({ passwd }: Accounts, { uid }: SandboxUser): boolean {
  return passwd.split('\n').some((line) => line.split(':')[2] === String(uid));
}

/**
 * The accounts of an image, with the sandbox's user added. The user's line comes first, so it wins over an account of
 * the image with the same id, which can still be found by name. An account of the image with the user's name is
 * dropped.
 */
export function withAccount(accounts: Accounts, user: SandboxUser): Accounts {
  const name = userName(user);
  const merged = (file: keyof Accounts, own: string) => {
    const lines = (accounts[file].trim() === '' ? usual[file] : accounts[file]).split('\n');
    const others = lines.filter((line) => line !== '' && line.split(':', 1)[0] !== name);
    return [own, ...others, ''].join('\n');
  };
  return {
    passwd: merged('passwd', `${name}:x:${user.uid}:${user.gid}::${workdir}:/bin/sh`),
    group: merged('group', `${name}:x:${user.gid}:`),
  };
}

/** Writes them into a folder below the room's run folder, readable for everyone in the sandbox. Returns the folder. */
export async function writeAccounts(runFolder: string, accounts: Accounts): Promise<string> {
  const folder = join(runFolder, 'etc');
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
  for (const file of ['passwd', 'group'] as const) {
    await writeFile(join(folder, file), accounts[file], 'latin1');
    await chmod(join(folder, file), 0o644);
  }
  return folder;
}

/** The accounts in a root file system. A link or a very long file counts as none. */
export async function accountsIn(root: string): Promise<Accounts> {
  const read = async (name: string) => {
    const path = join(root, 'etc', name);
    const facts = await lstat(path).catch(() => undefined);
    return facts?.isFile() && facts.size <= largestAccountFile ? readFile(path, 'latin1') : '';
  };
  return { passwd: await read('passwd'), group: await read('group') };
}
