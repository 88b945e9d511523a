import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { seccompProfile } from '../seccomp/profile.ts';
import { asking } from './engine.ts';
import { isPodman } from './probe.ts';

/**
 * What the engine is told to get our profile: Docker takes its text, Podman the name of a file on its own machine.
 * Undefined for a Podman elsewhere, which keeps to its own profile.
 */
export function seccompOption(
  engine: () => Promise<Docker>,
  isLocal: boolean,
): (runFolder: string) => Promise<string | undefined> {
  let asked: Promise<boolean> | undefined;
  const takesFiles = () => {
    asked ??= engine().then(async (client) => isPodman(await asking('say what it is', client.version())));
    asked.catch(() => {
      asked = undefined;
    });
    return asked;
  };
  return async (runFolder) => {
    if (!(await takesFiles())) return `seccomp=${seccompProfile()}`;
    if (!isLocal) return undefined;
    const file = join(runFolder, 'seccomp.json');
    await writeFile(file, seccompProfile());
    return `seccomp=${file}`;
  };
}
