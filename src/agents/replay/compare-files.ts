/** The files that a turn changed, against those that its replay changed. */
import { isGeodeError } from '../../base/errors.ts';
import type { ReplayedFile } from '../../seams/replay.ts';
import type { Change, Snapshots } from '../../seams/snapshots.ts';
import { isOwnPath } from '../run-turn.ts';

interface Side {
  readonly snapshots: Snapshots;
  readonly from: string;
  /** undefined: the workspace as it is. */
  readonly to: string | undefined;
}

const mostFiles = 200;
const mostDiff = 64 * 1024;

export interface ComparedFiles {
  readonly files: readonly ReplayedFile[];
  /** More files changed than are compared. */
  readonly truncated: boolean;
}

export async function compareFiles(
  recorded: Side,
  replayed: Side,
  signal: AbortSignal,
): Promise<ComparedFiles> {
  const [before, now] = [await changesOf(recorded, signal), await changesOf(replayed, signal)];
  const paths = [...new Set([...before.keys(), ...now.keys()])].toSorted();
  const files: ReplayedFile[] = [];
  for (const path of paths.slice(0, mostFiles)) {
    const [first, second] = [before.get(path), now.get(path)];
    files.push(await compareFile(path, [recorded, first], [replayed, second], signal));
  }
  return { files, truncated: paths.length > mostFiles };
}

type Changed = readonly [side: Side, change: Change | undefined];

async function compareFile(
  path: string,
  recorded: Changed,
  replayed: Changed,
  signal: AbortSignal,
): Promise<ReplayedFile> {
  const [first, second] = [await diffOf(path, recorded, signal), await diffOf(path, replayed, signal)];
  const isSameKind = factsOf(recorded[1]) === factsOf(replayed[1]);
  const shown = { path, recorded: shortened(first), replayed: shortened(second) };
  if (!isSameKind) return { ...shown, same: false };
  return { ...shown, same: first === null || second === null ? null : first === second };
}

/** A folder or a link has no text: its kind and mode are compared alone. */
function factsOf(change: Change | undefined): string {
  if (change === undefined) return '';
  const { after } = change;
  const size = after?.type === 'file' ? after.size : 0;
  return JSON.stringify([change.change, after?.type, after?.mode, size]);
}

async function changesOf(
  { snapshots, from, to }: Side,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Change>> {
  const changes = new Map<string, Change>();
  for await (const change of snapshots.diff(from, { to, signal })) {
    if (!isOwnPath(change.path)) changes.set(change.path, change);
    if (changes.size > mostFiles) break;
  }
  return changes;
}

/** Empty for an unchanged file; null if there is no text. */
async function diffOf(
  path: string,
  [{ snapshots, from, to }, change]: Changed,
  signal: AbortSignal,
): Promise<string | null> {
  if (change === undefined) return '';
  const { before, after } = change;
  if ((before ?? after)?.type !== 'file' || (after ?? before)?.type !== 'file')
    return (after ?? before)?.type === 'directory' ? '' : null;
  try {
    return await snapshots.textDiff(change.pathBase64 === undefined ? path : change, from, { to, signal });
  } catch (error) {
    if (isGeodeError(error, 'not_a_file') || isGeodeError(error, 'too_large')) return null;
    throw error;
  }
}

function shortened(diff: string | null): string | null {
  if (diff === null || diff.length <= mostDiff) return diff;
  return `${diff.slice(0, mostDiff)}\n… ${diff.length - mostDiff} more characters\n`;
}
