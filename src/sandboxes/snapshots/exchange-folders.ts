import { rename } from 'node:fs/promises';
import { z } from 'zod';
import { workspaceProgram } from '../../runtimes/guest-binary.ts';
import type { RuntimeOptions } from '../../runtimes/options.ts';
import { programAnswer } from './program.ts';

const deadlineMs = 30_000;

/**
 * Swaps two folders of the same disk. On Linux in one step; elsewhere in three, and a process that is killed between
 * them leaves one of the folders under the name `….exchanging`.
 */
export async function exchangeFolders(
  one: string,
  other: string,
  options: Pick<RuntimeOptions, 'guestDir' | 'arch' | 'platform'>,
): Promise<void> {
  if (options.platform === 'linux') {
    const request = { verb: 'exchange', workspace: one, into: other };
    const job = { program: workspaceProgram(options), what: 'Exchanging two folders', request, deadlineMs };
    await programAnswer(job, z.object({}));
    return;
  }
  await rename(one, `${one}.exchanging`);
  await rename(other, one);
  await rename(`${one}.exchanging`, other);
}
