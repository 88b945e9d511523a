import { GeodeError } from '../../base/errors.ts';
import type { PointKind } from '../../seams/snapshots.ts';

/** Means the last undo point. */
export const undoName = 'undo';

export const snapshotNamePattern = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,63}$/;

/** Where a snapshot is stored: `undo:NAME` and `turn:NAME` name points that are not a person's own snapshots. */
export function pointOf(name: string): { readonly kind: PointKind; readonly name: string } {
  for (const kind of ['undo', 'turn'] as const)
    if (name.startsWith(`${kind}:`)) return { kind, name: checkSnapshotName(name.slice(kind.length + 1)) };
  return { kind: 'kept', name: checkSnapshotName(name) };
}

/** A name in a request, numbers included. */
export function checkSnapshotName(name: string): string {
  if (snapshotNamePattern.test(name)) return name;
  throw new GeodeError(
    'invalid_input',
    `${JSON.stringify(name.slice(0, 80))} is not a snapshot name: use 1 to 64 letters, digits, ".", "_" and "-".`,
  );
}

/** A name that a user chose, not one that Geode assigns. */
export function checkNewName(name: string): string {
  checkSnapshotName(name);
  if (name !== undoName && !/^\d+$/.test(name)) return name;
  throw new GeodeError('invalid_input', `A snapshot cannot be called ${JSON.stringify(name)}.`, {
    hint: 'Geode itself uses numbers and "undo". Choose another name, or leave it out.',
  });
}
