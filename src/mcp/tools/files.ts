/** Files in the workspace of a chat. No path leaves it. */
import { z } from 'zod';
import { defineTool, type Tool } from '../tool.ts';
import { chat } from './inputs.ts';

const mostBytes = 200_000;
const mostEntries = 1000;

const path = z.string().min(1).max(4096).describe('Below the workspace: `src/main.py`.');

const read = defineTool({
  name: 'file_read',
  title: 'Read a file of a sandbox',
  description:
    'Reads a file, or a part of it, from the workspace of a chat. Content that is not UTF-8 is returned as base64. `next_offset` is where to continue, null at the end.',
  effect: 'reads',
  input: z.strictObject({
    chat,
    path,
    offset: z.int().min(0).default(0).describe('In bytes.'),
    length: z.int().min(1).max(mostBytes).default(mostBytes).describe('In bytes.'),
  }),
  async run({ chat: name, path: file, offset, length }, { client, signal }) {
    const { files } = client.sandboxes.of(name);
    const bytes = await files.read(file, { offset, length, signal });
    const { size } = await files.stat(file, { signal });
    const end = offset + bytes.length;
    return { path: file, size, ...contentOf(bytes), next_offset: end < size ? end : null };
  },
});

const write = defineTool({
  name: 'file_write',
  title: 'Write a file of a sandbox',
  description: 'Writes a file in the workspace of a chat atomically; creates missing parent folders.',
  effect: 'destroys',
  input: z.strictObject({
    chat,
    path,
    content: z.string().max(2_000_000),
    encoding: z.enum(['text', 'base64']).default('text'),
    mode: z.int().min(0).max(0o777).optional().describe('As a number: 493 is rwxr-xr-x.'),
  }),
  run({ chat: name, path: file, content, encoding, mode }, { client, signal }) {
    const body = encoding === 'text' ? content : new Uint8Array(Buffer.from(content, 'base64'));
    return client.sandboxes.of(name).files.write(file, body, { ...(mode !== undefined && { mode }), signal });
  },
});

const list = defineTool({
  name: 'file_list',
  title: 'List files of a sandbox',
  description: 'Lists a folder in the workspace of a chat, several levels deep if asked.',
  effect: 'reads',
  input: z.strictObject({
    chat,
    path: path.default('.'),
    depth: z.int().min(1).max(16).default(1),
    limit: z.int().min(1).max(mostEntries).default(200),
  }),
  async run({ chat: name, path: folder, depth, limit }, { client, signal }) {
    const { entries, truncated } = await client.sandboxes
      .of(name)
      .files.list(folder, { depth, limit, signal });
    return {
      entries: entries.map(({ path: at, type, size, mtimeMs }) => ({ path: at, type, size, mtimeMs })),
      truncated,
    };
  },
});

function contentOf(bytes: Uint8Array): { readonly text: string } | { readonly base64: string } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { base64: Buffer.from(bytes).toString('base64') };
  }
}

export const fileTools: readonly Tool[] = [read, write, list];
