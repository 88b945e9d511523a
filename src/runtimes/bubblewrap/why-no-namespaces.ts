/** Why bwrap could not create namespaces, as far as this machine shows, and what would allow them. */
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface NoNamespaces {
  readonly reason: string;
  readonly fix: string;
}

/** Leaves bwrap's namespaces unconfined, and all other programs unchanged. */
const appArmorProfile = [
  'abi <abi/4.0>,',
  'include <tunables/global>',
  'profile bwrap /usr/bin/bwrap flags=(unconfined) {',
  '  userns,',
  '}',
].join('\\n');

const containerFix =
  'Start the container with --security-opt seccomp=unconfined --security-opt systempaths=unconfined' +
  '(Podman: --security-opt seccomp=unconfined --security-opt unmask=ALL), or run Geode outside of it.';

/** `root` is the folder in which the machine's files are read. */
export async function whyNoNamespaces(
  refusal: string,
  { uid, root = '/' }: { readonly uid: number; readonly root?: string },
): Promise<NoNamespaces> {
  const setting = (name: string) =>
    readFile(join(root, 'proc/sys', name), 'utf8').then(
      (text) => text.trim(),
      () => undefined,
    );
  const isThere = (path: string) =>
    access(join(root, path)).then(
      () => true,
      () => false,
    );
  const because = (cause: string, fix: string) => ({ reason: `${cause} (${refusal})`, fix });

  if ((await setting('user/max_user_namespaces')) === '0')
    return because(
      'this machine allows no user namespaces: user.max_user_namespaces is 0',
      'sudo sysctl user.max_user_namespaces=10000',
    );
  if (uid !== 0 && (await setting('kernel/unprivileged_userns_clone')) === '0')
    return because(
      'only root may create user namespaces: kernel.unprivileged_userns_clone is 0',
      'sudo sysctl kernel.unprivileged_userns_clone=1',
    );
  if ((await isThere('.dockerenv')) || (await isThere('run/.containerenv'))) {
    const isMasked = /mount proc/i.test(refusal);
    return because(
      isMasked
        ? 'the container that Geode runs in hides parts of /proc, so no sandbox can have its own'
        : 'the container that Geode runs in refuses namespaces, by its seccomp profile or missing capabilities',
      containerFix,
    );
  }
  if (uid !== 0 && (await setting('kernel/apparmor_restrict_unprivileged_userns')) === '1')
    return because(
      'AppArmor denies user namespaces to programs without a profile, as on Ubuntu since 23.10: kernel.apparmor_restrict_unprivileged_userns is 1',
      `printf '${appArmorProfile}\\n' | sudo tee /etc/apparmor.d/bwrap && sudo systemctl reload apparmor`,
    );
  return because(
    'bwrap cannot create namespaces here',
    'Look for a security module or a seccomp profile that forbids user namespaces, or use the docker runtime.',
  );
}
