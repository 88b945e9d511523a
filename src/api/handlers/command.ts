/** Converts a requested command to the form that a sandbox takes. */

import { GeodeError } from '../../base/errors.ts';
import { bytesOf } from '../../contract/encoding.ts';
import type { Own } from '../../contract/names.ts';
import type { spawnSchema } from '../../contract/processes.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';
import type { Command } from '../../seams/process.ts';

type Asked = Own<(typeof spawnSchema)['_zod']['output']>;

export function commandOf({ argv, stdin, undoable: _, ...rest }: Asked): Command {
  const [program = '', ...words] = argv;
  return { ...rest, argv: [program, ...words], ...(stdin !== undefined && { stdin: bytesOf(stdin) }) };
}

/** Takes an undo point before a command that may be undone. */
export async function markBefore(
  { id, snapshots }: PersistentSandbox,
  undoable: boolean | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (undoable !== true) return;
  if (snapshots !== undefined) await snapshots.mark({ signal });
  else
    throw new GeodeError(
      'cannot_enforce',
      `The files of sandbox ${id} are not on this host, so changes cannot be undone.`,
    );
}
