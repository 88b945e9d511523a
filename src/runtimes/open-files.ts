import { readFile } from 'node:fs/promises';
import { GeodeError } from '../base/errors.ts';
import type { RuntimeName } from '../seams/runtime.ts';
import type { RuntimeOptions } from './options.ts';
import type { CheckedSpec } from './spec.ts';

/**
 * Refuses a higher number of open files than this host's user may pass on. Only root may raise the limit of its
 * process.
 */
export async function checkOpenFiles(
  runtime: RuntimeName,
  { uid }: Pick<RuntimeOptions, 'uid'>,
  { limits: { openFiles } }: CheckedSpec,
): Promise<void> {
  if (openFiles == null || uid === 0) return;
  const own = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const hard = Number(/^Max open files +\S+ +(\d+)/m.exec(own)?.[1] ?? Number.POSITIVE_INFINITY);
  if (openFiles <= hard) return;
  throw new GeodeError(
    'cannot_enforce',
    `The ${runtime} runtime cannot enforce limits.openFiles: this user may open at most ${hard} files.`,
    {
      hint: 'Use a lower limit, or raise the hard limit of this user (ulimit -Hn) and restart the host.',
      details: { runtime, field: 'limits.openFiles' },
    },
  );
}
