/** Workspaces as they were: kept, compared, restored. A fork is made by `…/fork` of the sandbox. */
import type { Context } from 'hono';
import { toWire } from '../../../contract/names.ts';
import { chatParams, removedSchema } from '../../../contract/sandboxes.ts';
import {
  type DiffEvent,
  diffEventSchema,
  diffQuery,
  restoredSchema,
  snapshotParams,
  snapshotSchema,
  snapshotsSchema,
  takeSchema,
  textDiffQuery,
  textDiffSchema,
} from '../../../contract/snapshots.ts';
import { GeodeError } from '../../../core/errors.ts';
import type { Change, Snapshots } from '../../../core/snapshots.ts';
import type { ApiEnv } from '../../environment.ts';
import { signalOf, streamEvents } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  eventStream,
  json,
  jsonBody,
  limitEntryBody,
  sandboxRefusals,
  security,
} from '../../route.ts';
import { startedSandbox } from '../../sandbox-of.ts';

const path = '/api/v1/sandboxes/{chat}/snapshots';
const one = `${path}/{snapshot}` as const;
const tags = ['snapshots'];
/** A snapshot is held by a sandbox that runs, so that even looking at one may start it. */
const middleware = requireScope('sandboxes:write');

const take = defineRoute(
  {
    method: 'post',
    path,
    summary: 'Keep the workspace as it is now',
    tags,
    security,
    middleware: [middleware, limitEntryBody],
    request: { params: chatParams, body: jsonBody('Without a name it gets a number.', takeSchema) },
    responses: { 201: json('The snapshot.', snapshotSchema), ...sandboxRefusals, ...bodyRefusals },
  },
  async (context) => {
    const snapshots = await snapshotsOf(context, context.req.valid('param').chat);
    const { name } = context.req.valid('json');
    return context.json(toWire(await snapshots.take({ name, signal: signalOf(context) })), 201);
  },
);

const list = defineRoute(
  {
    method: 'get',
    path,
    summary: 'List the snapshots, undo points included',
    tags,
    security,
    middleware,
    request: { params: chatParams },
    responses: { 200: json('Oldest first.', snapshotsSchema), ...sandboxRefusals },
  },
  async (context) => {
    const snapshots = await snapshotsOf(context, context.req.valid('param').chat);
    return context.json(toWire(await snapshots.list({ signal: signalOf(context) })), 200);
  },
);

const remove = defineRoute(
  {
    method: 'delete',
    path: one,
    summary: 'Remove a snapshot',
    tags,
    security,
    middleware,
    request: { params: snapshotParams },
    responses: { 200: json('Whether there was one.', removedSchema), ...sandboxRefusals },
  },
  async (context) => {
    const { chat, snapshot } = context.req.valid('param');
    const snapshots = await snapshotsOf(context, chat);
    return context.json({ removed: await snapshots.remove(snapshot, { signal: signalOf(context) }) }, 200);
  },
);

const restore = defineRoute(
  {
    method: 'post',
    path: `${one}/restore`,
    summary: 'Make the workspace equal to a snapshot',
    tags,
    security,
    middleware,
    request: { params: snapshotParams },
    responses: { 200: json('What was done.', restoredSchema), ...sandboxRefusals },
  },
  async (context) => {
    const { chat, snapshot } = context.req.valid('param');
    const snapshots = await snapshotsOf(context, chat);
    return context.json(toWire(await snapshots.restore(snapshot, { signal: signalOf(context) })), 200);
  },
);

const diff = defineRoute(
  {
    method: 'get',
    path: `${one}/diff`,
    summary: 'Compare a snapshot with a later one, or with the workspace as it is',
    tags,
    security,
    middleware,
    request: { params: snapshotParams, query: diffQuery },
    responses: { 200: eventStream('One event for each change.', diffEventSchema), ...sandboxRefusals },
  },
  async (context) => {
    const { chat, snapshot } = context.req.valid('param');
    const { to } = context.req.valid('query');
    const snapshots = await snapshotsOf(context, chat);
    const changes = snapshots.diff(snapshot, { to, signal: signalOf(context) });
    return streamEvents(context, 200, diffEvents(changes));
  },
);

async function* diffEvents(changes: AsyncIterable<Change>): AsyncGenerator<DiffEvent> {
  let done = 0;
  for await (const change of changes) {
    done += 1;
    yield { type: 'change', ...toWire(change) };
  }
  yield { type: 'end', done };
}

const textDiff = defineRoute(
  {
    method: 'get',
    path: `${one}/text-diff`,
    summary: 'Show the change of one file',
    tags,
    security,
    middleware,
    request: { params: snapshotParams, query: textDiffQuery },
    responses: { 200: json('As a unified diff.', textDiffSchema), ...sandboxRefusals },
  },
  async (context) => {
    const { chat, snapshot } = context.req.valid('param');
    const { path: name, path_base64: pathBase64, to } = context.req.valid('query');
    const snapshots = await snapshotsOf(context, chat);
    const text = await snapshots.textDiff({ path: name, pathBase64 }, snapshot, {
      to,
      signal: signalOf(context),
    });
    return context.json({ diff: text }, 200);
  },
);

const undo = defineRoute(
  {
    method: 'post',
    path: '/api/v1/sandboxes/{chat}/undo',
    summary: 'Take back what the last undoable command changed',
    tags,
    security,
    middleware,
    request: { params: chatParams },
    responses: { 200: json('What was done.', restoredSchema), ...sandboxRefusals },
  },
  async (context) => {
    const snapshots = await snapshotsOf(context, context.req.valid('param').chat);
    return context.json(toWire(await snapshots.undo({ signal: signalOf(context) })), 200);
  },
);

export const snapshotRoutes = [take, list, remove, restore, diff, textDiff, undo] as const;

async function snapshotsOf(context: Context<ApiEnv>, chat: string): Promise<Snapshots> {
  const { id, snapshots } = await startedSandbox(context, chat);
  if (snapshots !== undefined) return snapshots;
  throw new GeodeError('cannot_enforce', `The files of sandbox ${id} are not on this host`, {
    hint: 'Snapshots need a runtime whose workspaces are folders of the host.',
  });
}
