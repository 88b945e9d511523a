import { z } from 'zod';
import type { Cancel } from '../../base/cancel.ts';
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import { Turns } from '../../base/turns.ts';
import type {
  Change,
  Freezing,
  PointKind,
  Snapshot,
  Snapshots,
  WorkspacePlace,
} from '../../seams/snapshots.ts';
import { answersOf, type Job, programAnswer } from './program.ts';
import { checkNewName, checkSnapshotName, pointOf, undoName } from './snapshot-names.ts';
import { unifiedDiff } from './unified-diff.ts';

export interface SnapshotPolicy {
  /** Number of snapshots to keep; above it the oldest unnamed one is removed. */
  readonly most: number;
  /** Number of undo points to keep. */
  readonly mostUndo: number;
  /** Number of points of turns to keep: one before and one after each turn. */
  readonly mostTurn: number;
  /** Maximum bytes that one snapshot may add on disk; `null`: no limit. */
  readonly mostBytes: number | null;
  readonly deadlineMs: number;
}

export const defaultSnapshotPolicy: SnapshotPolicy = {
  most: 20,
  mostUndo: 10,
  mostTurn: 40,
  mostBytes: null,
  deadlineMs: 15 * 60_000,
};

const mostTextBytes = 1024 ** 2;

/** The snapshots of a workspace on this host's disk. Keeps nothing open; all state is in the folder. */
export function snapshotsOf(
  place: WorkspacePlace,
  policy: SnapshotPolicy = defaultSnapshotPolicy,
): Snapshots {
  const turns = new Turns();
  const { program, folder: store, workspace } = place;
  const { deadlineMs } = policy;
  const job = (what: string, request: Readonly<Record<string, unknown>>, signal?: AbortSignal): Job => ({
    program,
    what,
    deadlineMs,
    signal,
    request: { store, workspace, ...request },
  });

  const list = async ({ signal }: Cancel = {}) => {
    const { snapshots, diskBytes } = await programAnswer(
      job('Listing the snapshots', { verb: 'list' }, signal),
      listSchema,
    );
    return { snapshots: snapshots.filter(isListed), diskBytes };
  };

  const lastUndo = async (signal: AbortSignal | undefined) => {
    const { snapshots } = await list({ signal });
    const last = snapshots.findLast(({ kind }) => kind === 'undo');
    if (last !== undefined) return { kind: last.kind, name: last.name };
    throw new GeodeError('snapshot_not_found', 'There is nothing to undo in this workspace.', {
      hint: 'Undo points are taken before commands that ask for one.',
    });
  };

  const find = async (name: string, signal: AbortSignal | undefined) => {
    if (name === undoName) return await lastUndo(signal);
    return pointOf(name);
  };

  const most = { kept: policy.most, undo: policy.mostUndo, turn: policy.mostTurn };

  const take = async (
    kind: PointKind,
    name: string | undefined,
    { also, ...options }: { readonly also?: PointKind | undefined } & Freezing & Cancel,
  ): Promise<Snapshot> => {
    const request = {
      verb: 'take',
      kind,
      name,
      most: most[kind],
      ...(also && { also, mostAlso: most[also] }),
      mostBytes: policy.mostBytes ?? 0,
      // A lost point of a turn or of an undo harms nothing, so it does not wait for the disk.
      sync: kind === 'kept',
    };
    const taken = await turns.in(() =>
      frozenAnswer(job('Taking a snapshot', request, options.signal), options, takenSchema),
    );
    return { ...taken, kind: kind === 'kept' ? 'kept' : 'undo' };
  };

  const restore = (
    found: { readonly kind: PointKind; readonly name: string },
    { freeze, signal }: Freezing & Cancel,
  ) => {
    const restoring = job(`Restoring the snapshot ${found.name}`, { verb: 'restore', ...found }, signal);
    return turns.in(async () => {
      await using _frozen = await freeze?.();
      return await programAnswer(restoring, restoredSchema);
    });
  };

  const remove = (
    found: { readonly kind: PointKind; readonly name: string },
    signal: AbortSignal | undefined,
  ) =>
    turns.in(() => programAnswer(job('Removing a snapshot', { verb: 'remove', ...found }, signal), anything));

  return {
    take: async ({ name, ...options } = {}) =>
      take('kept', name === undefined ? undefined : checkNewName(name), options),
    list,
    restore: async (name, options = {}) => restore({ kind: 'kept', name: checkSnapshotName(name) }, options),
    async *diff(from, { to, signal } = {}) {
      const before = await find(from, signal);
      const after = to === undefined ? undefined : await find(to, signal);
      const request = { verb: 'diff', ...before, against: after?.name, againstKind: after?.kind };
      using _held = await turns.take();
      for await (const { line } of answersOf(job('Comparing the workspace', request, signal))) {
        yield changeSchema.parse(line);
      }
    },
    async textDiff(file, from, { to, signal } = {}) {
      const { path, pathBase64 = Buffer.from(path).toString('base64') } =
        typeof file === 'string' ? { path: file } : file;
      const before = await find(from, signal);
      const after = to === undefined ? undefined : await find(to, signal);
      const read = (found: { readonly kind: PointKind; readonly name: string } | undefined) => {
        const request = {
          verb: 'read',
          ...found,
          path: pathBase64,
          mostBytes: mostTextBytes,
        };
        return turns
          .in(() => programAnswer(job(`Reading ${path}`, request, signal), contentSchema))
          .catch((error) => {
            if (isGeodeError(error, 'file_not_found')) return undefined;
            throw error;
          });
      };
      return unifiedDiff(path, await read(before), await read(after));
    },
    async remove(name, { signal } = {}) {
      try {
        await remove({ kind: 'kept', name: checkSnapshotName(name) }, signal);
        return true;
      } catch (error) {
        if (isGeodeError(error, 'snapshot_not_found')) return false;
        throw error;
      }
    },
    mark: async ({ forTurn = false, ...options } = {}) =>
      take('undo', undefined, { ...options, also: forTurn ? 'turn' : undefined }),
    markTurnEnd: async (options = {}) => take('turn', undefined, options),
    async undo(options = {}) {
      const point = await lastUndo(options.signal);
      const restored = await restore(point, options);
      await remove(point, options.signal);
      return restored;
    },
  };
}

/** The answer to a job that scans twice if it can freeze: the second time with every process frozen. */
export async function frozenAnswer<T>(job: Job, { freeze }: Freezing, schema: z.ZodType<T>): Promise<T> {
  let frozen: AsyncDisposable | undefined;
  const thaw = async () => {
    const held = frozen;
    frozen = undefined;
    await held?.[Symbol.asyncDispose]();
  };
  let answer: T | undefined;
  try {
    const request = { ...job.request, pause: freeze !== undefined };
    for await (const { line, go } of answersOf({ ...job, request })) {
      const event = eventSchema.safeParse(line);
      if (!event.success) {
        answer = schema.parse(line);
      } else if (event.data.event === 'ready') {
        frozen = await freeze?.();
        go();
      } else {
        await thaw();
      }
    }
  } finally {
    await thaw();
  }
  if (answer === undefined) throw new GeodeError('internal', `${job.what} had no answer.`);
  return answer;
}

const count = z.number().nonnegative();
const eventSchema = z.object({ event: z.enum(['ready', 'seen']) });
const anything = z.object({});

/** A point of a turn has no line of its own in a list. */
function isListed(snapshot: Point): snapshot is Snapshot {
  return snapshot.kind !== 'turn';
}

type Point = Omit<Snapshot, 'kind'> & { readonly kind: PointKind };

const snapshotSchema = z
  .object({
    name: z.string(),
    kind: z.enum(['kept', 'undo', 'turn']),
    takenMs: count,
    files: count,
    folders: count,
    links: count,
    bytes: count,
    addedBytes: count,
    special: count,
    unreadable: count,
  })
  .transform(
    ({ takenMs, special, unreadable, ...rest }): Point => ({
      ...rest,
      takenAt: takenMs,
      leftOut: { special, unreadable },
    }),
  );
const takenSchema = z.object({ snapshot: snapshotSchema }).transform(({ snapshot }) => snapshot);
const listSchema = z.object({ snapshots: z.array(snapshotSchema), diskBytes: count });
export const restoredSchema = z.object({ written: count, removed: count, changed: count, left: count });
const contentSchema = z
  .object({ content: z.base64() })
  .transform(({ content }) => Buffer.from(content, 'base64'));
const sideSchema = z
  .object({
    type: z.enum(['file', 'directory', 'symlink', 'special', 'unreadable']),
    size: count,
    mode: count,
  })
  .optional();
const changeSchema: z.ZodType<Change> = z.object({
  path: z.string(),
  pathBase64: z.string().optional(),
  change: z.enum(['added', 'removed', 'modified', 'mode', 'type']),
  before: sideSchema,
  after: sideSchema,
});
