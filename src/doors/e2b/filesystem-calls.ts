/** `filesystem.Filesystem`: operations on files of a sandbox, except their content. */
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import type { ApiEnv } from '../../api/environment.ts';
import { signalOf } from '../../api/streams.ts';
import { GeodeError } from '../../base/errors.ts';
import type { FileFacts, FileType } from '../../seams/files.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';
import { streaming, unary } from './connect-protocol.ts';
import { absolutePath, shownPath } from './paths.ts';
import { checkFileUser, type ReachSandbox } from './reach.ts';
import { watchFolder } from './watch-folder.ts';
import { Watchers } from './watchers.ts';

const named = z.object({ path: z.string().default('') });
const listCall = named.extend({ depth: z.int().min(0).max(100).default(1) });
const moveCall = z.object({ source: z.string(), destination: z.string() });
const watchCall = named.extend({ recursive: z.boolean().default(false) });
const watcherCall = z.object({ watcherId: z.string() });
const mostEntries = 10_000;

export function filesystemCalls(door: Hono<ApiEnv>, reach: ReachSandbox): void {
  const at = (name: string) => `/filesystem.Filesystem/${name}`;
  watcherCalls(door, reach, at);
  door.post(at('Stat'), (context) =>
    unary(context, named, async ({ path }) => ({ entry: await entryAt(reach, context, path) })),
  );
  door.post(at('ListDir'), (context) => unary(context, listCall, (call) => listed(reach, context, call)));
  door.post(at('MakeDir'), (context) =>
    unary(context, named, async ({ path }) => {
      const { sandbox, place } = await reachedAt(reach, context, path);
      const cancel = { signal: signalOf(context) };
      if (await sandbox.rootFiles.exists(place, cancel))
        throw new GeodeError('file_exists', `${path} already exists.`);
      await sandbox.rootFiles.mkdir(place, cancel);
      return { entry: await entryAt(reach, context, path) };
    }),
  );
  door.post(at('Move'), (context) =>
    unary(context, moveCall, async ({ source, destination }) => {
      const { sandbox, place } = await reachedAt(reach, context, source);
      const target = absolutePath(destination, sandbox);
      await sandbox.rootFiles.move(place, target, { overwrite: true, signal: signalOf(context) });
      return { entry: await entryAt(reach, context, destination) };
    }),
  );
  door.post(at('Remove'), (context) =>
    unary(context, named, async ({ path }) => {
      const { sandbox, place } = await reachedAt(reach, context, path);
      await sandbox.rootFiles.remove(place, { signal: signalOf(context) });
      return {};
    }),
  );
  door.post(at('WatchDir'), (context) =>
    streaming(context, watchCall, { keepalive: {} }, (call) => watched(reach, context, call)),
  );
}

function watcherCalls(door: Hono<ApiEnv>, reach: ReachSandbox, at: (name: string) => string): void {
  const watchers = new Watchers();
  door.post(at('CreateWatcher'), (context) =>
    unary(context, watchCall, async ({ path, recursive }) => {
      const { sandbox, place } = await reachedAt(reach, context, path);
      return { watcherId: await watchers.create(sandbox, place, recursive) };
    }),
  );
  door.post(at('GetWatcherEvents'), (context) =>
    unary(context, watcherCall, async ({ watcherId }) => ({
      events: watchers.events(await reach(context), watcherId),
    })),
  );
  door.post(at('RemoveWatcher'), (context) =>
    unary(context, watcherCall, async ({ watcherId }) => {
      watchers.remove(await reach(context), watcherId);
      return {};
    }),
  );
}

async function reachedAt(reach: ReachSandbox, context: Context<ApiEnv>, path: string) {
  checkFileUser(context);
  const sandbox = await reach(context);
  return { sandbox, place: absolutePath(path, sandbox) };
}

async function entryAt(reach: ReachSandbox, context: Context<ApiEnv>, path: string): Promise<object> {
  const { sandbox, place } = await reachedAt(reach, context, path);
  const signal = signalOf(context);
  const facts = await sandbox.rootFiles.stat(place, { signal });
  return entryOf(facts, await ownerOf(sandbox, signal), sandbox);
}

async function listed(
  reach: ReachSandbox,
  context: Context<ApiEnv>,
  { path, depth }: z.output<typeof listCall>,
): Promise<object> {
  const { sandbox, place } = await reachedAt(reach, context, path);
  const signal = signalOf(context);
  const { type } = await sandbox.rootFiles.stat(place, { follow: true, signal });
  if (type !== 'directory') throw new GeodeError('not_a_file', `${path} is not a directory.`);
  const options = { depth: Math.max(depth, 1), limit: mostEntries, signal };
  const { entries, truncated } = await sandbox.rootFiles.list(place, options);
  if (truncated) throw new GeodeError('too_large', `${path} has more than ${mostEntries} entries.`);
  const owner = await ownerOf(sandbox, signal);
  return {
    entries: entries.filter(({ type: kind }) => kind in types).map((facts) => entryOf(facts, owner, sandbox)),
  };
}

async function* watched(
  reach: ReachSandbox,
  context: Context<ApiEnv>,
  { path, recursive }: z.output<typeof watchCall>,
): AsyncGenerator<object, void> {
  const { sandbox, place } = await reachedAt(reach, context, path);
  for await (const change of watchFolder(sandbox, place, { recursive, signal: signalOf(context) }))
    yield change === undefined ? { start: {} } : { filesystem: change };
}

const types: Readonly<Partial<Record<FileType, string>>> = {
  file: 'FILE_TYPE_FILE',
  directory: 'FILE_TYPE_DIRECTORY',
  symlink: 'FILE_TYPE_SYMLINK',
};

/** The owner of the workspace is the sandbox's user, regardless of its numeric id. */
async function ownerOf(sandbox: PersistentSandbox, signal: AbortSignal): Promise<number> {
  return (await sandbox.rootFiles.stat(sandbox.workdir, { signal })).uid;
}

function entryOf(
  { name, type, path, size, mode, mtimeMs, uid, gid, target }: FileFacts,
  owner: number,
  sandbox: PersistentSandbox,
): object {
  const nameOf = (id: number) => (id === owner ? 'user' : id === 0 ? 'root' : String(id));
  return {
    name,
    type: types[type] ?? 'FILE_TYPE_UNSPECIFIED',
    path: shownPath(path, sandbox),
    size: String(size),
    mode: mode & 0o7777,
    permissions: permissionsOf(type, mode),
    owner: nameOf(uid),
    group: nameOf(gid),
    modifiedTime: new Date(mtimeMs).toISOString(),
    ...(target !== null && { symlinkTarget: shownPath(target, sandbox) }),
  };
}

function permissionsOf(type: FileType, mode: number): string {
  const kind = type === 'directory' ? 'd' : type === 'symlink' ? 'l' : '-';
  const bits = [...'rwxrwxrwx'].map((letter, index) => ((mode >> (8 - index)) & 1 ? letter : '-'));
  return kind + bits.join('');
}
