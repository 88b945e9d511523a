import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { seccompProfile } from '../seccomp/profile.ts';

/**
 * The security option with Geode's profile: Docker takes its text, Podman a file name on its own machine. Undefined
 * for a remote Podman, which uses its own profile.
 */
export async function seccompOption(
  kind: 'docker' | 'podman',
  { isLocal, runFolder }: { readonly isLocal: boolean; readonly runFolder: string },
): Promise<string | undefined> {
  if (kind === 'docker') return `seccomp=${seccompProfile()}`;
  if (!isLocal) return undefined;
  const file = join(runFolder, 'seccomp.json');
  await writeFile(file, seccompProfile());
  return `seccomp=${file}`;
}
