/** What files there are, and what is in them. */

import {
  fileSchema,
  grepQuery,
  listingSchema,
  listQuery,
  matchesSchema,
  searchQuery,
  statQuery,
  watchEventSchema,
  watchQuery,
} from '../../../contract/files.ts';
import { toWire } from '../../../contract/names.ts';
import { chatParams } from '../../../contract/sandboxes.ts';
import type { WatchEvent } from '../../../core/files.ts';
import { signalOf, streamEvents } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, eventStream, json, sandboxRefusals, security } from '../../route.ts';
import { untilAborted } from '../../until-aborted.ts';
import { filesFor } from './files-for.ts';

const path = '/api/v1/sandboxes/{chat}/files';
const common = {
  method: 'get' as const,
  tags: ['files'],
  security,
  middleware: requireScope('sandboxes:read'),
};

export const list = defineRoute(
  {
    ...common,
    path,
    summary: 'List a folder',
    request: { params: chatParams, query: listQuery },
    responses: { 200: json('What is in it.', listingSchema), ...sandboxRefusals },
  },
  async (context) => {
    const { path: name, root, depth, limit } = context.req.valid('query');
    const files = await filesFor(context, context.req.valid('param').chat, root, 'look');
    const options = { ...(depth !== undefined && { depth }), ...(limit !== undefined && { limit }) };
    return context.json(toWire(await files.list(name, { ...options, signal: signalOf(context) })), 200);
  },
);

export const stat = defineRoute(
  {
    ...common,
    path: `${path}/stat`,
    summary: 'Look at a file, a folder or a link',
    request: { params: chatParams, query: statQuery },
    responses: { 200: json('What it is.', fileSchema), ...sandboxRefusals },
  },
  async (context) => {
    const { path: name, root, follow } = context.req.valid('query');
    const files = await filesFor(context, context.req.valid('param').chat, root, 'look');
    return context.json(toWire(await files.stat(name, { follow, signal: signalOf(context) })), 200);
  },
);

export const search = defineRoute(
  {
    ...common,
    path: `${path}/search`,
    summary: 'Find files by a glob',
    request: { params: chatParams, query: searchQuery },
    responses: { 200: json('What matches.', listingSchema), ...sandboxRefusals },
  },
  async (context) => {
    const { path: name, root, pattern, limit } = context.req.valid('query');
    const files = await filesFor(context, context.req.valid('param').chat, root, 'look');
    const options = { ...(limit !== undefined && { limit }), signal: signalOf(context) };
    return context.json(toWire(await files.search(name, pattern, options)), 200);
  },
);

export const grep = defineRoute(
  {
    ...common,
    path: `${path}/grep`,
    summary: 'Find lines in files',
    request: { params: chatParams, query: grepQuery },
    responses: { 200: json('Where it is.', matchesSchema), ...sandboxRefusals },
  },
  async (context) => {
    const { path: name, root, pattern, regex, ignore_case, include, limit } = context.req.valid('query');
    const files = await filesFor(context, context.req.valid('param').chat, root, 'look');
    const found = await files.grep(name, pattern, {
      regex,
      ignoreCase: ignore_case,
      ...(include !== undefined && { include }),
      ...(limit !== undefined && { limit }),
      signal: signalOf(context),
    });
    return context.json(toWire(found), 200);
  },
);

export const watch = defineRoute(
  {
    ...common,
    path: `${path}/watch`,
    summary: 'Watch a file or a folder for changes',
    request: { params: chatParams, query: watchQuery },
    responses: { 200: eventStream('One event for each change.', watchEventSchema), ...sandboxRefusals },
  },
  async (context) => {
    const { path: name, root, recursive } = context.req.valid('query');
    const files = await filesFor(context, context.req.valid('param').chat, root, 'look');
    const signal = signalOf(context);
    await files.stat(name, { signal });
    const changes: AsyncIterable<WatchEvent> = files.watch(name, { recursive, signal });
    return streamEvents(context, 200, untilAborted(changes, signal));
  },
);
