/** Reading and changing files. */
import { posix } from 'node:path';
import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ApiEnv } from '../../api/environment.ts';
import { signalOf } from '../../api/streams.ts';
import { GeodeError } from '../../base/errors.ts';
import type { FileFacts, Files } from '../../seams/files.ts';
import { bodyOf } from '../json-body.ts';
import { changedText, replacementSchema } from './change-text.ts';
import { bytesAnswer, readAnswer } from './file-answers.ts';
import { factsOf, fileAt, folderIn } from './look.ts';
import { home, type Places } from './place.ts';
import { bodyTool, tool, type WireDoor } from './routes.ts';

const pathBody = z.object({ path: z.string() });

export function fileRoutes(door: WireDoor, places: Places): void {
  door.get('/files/cwd', (context) =>
    context.json({ cwd: places.folder(context), home, root: { path: home, label: 'Home' } }, 200),
  );
  door.post('/files/cwd', async (context) => {
    const { path: given } = await bodyOf(context, pathBody);
    const sandbox = await places.use(context);
    const path = places.resolve(context, given, home);
    const facts = await factsOf(sandbox.rootFiles, path, signalOf(context));
    if (facts?.type !== 'directory') throw new GeodeError('file_not_found', 'Directory not found.');
    places.choose(context, path);
    return context.json({ cwd: path }, 200);
  });
  door.openapi(list, async (context) => {
    await places.use(context);
    const { files, path } = await folderIn(context, places, context.req.valid('query').directory);
    return context.json(await listingOf(files, path, signalOf(context)), 200);
  });
  door.openapi(read, async (context) => {
    const { path, start_line: start, end_line: end } = context.req.valid('query');
    return await readAnswer(context, await fileAt(context, places, path), { start, end });
  });
  door.openapi(display, async (context) => {
    const path = places.resolve(context, context.req.valid('query').path);
    const sandbox = await places.known(context);
    const facts = sandbox && (await factsOf(sandbox.rootFiles, path, signalOf(context)));
    return context.json({ path, exists: facts?.type === 'file' }, 200);
  });
  door.get('/files/view', async (context) =>
    bytesAnswer(context, await fileAt(context, places, context.req.query('path') ?? '', home)),
  );
  door.get('/files/serve/:path{.+}', async (context) =>
    bytesAnswer(context, await fileAt(context, places, `/${context.req.param('path')}`)),
  );
  changeRoutes(door, places);
}

function changeRoutes(door: WireDoor, places: Places): void {
  door.openapi(write, async (context) => {
    const { path: given, content } = context.req.valid('json');
    const { rootFiles } = await places.use(context);
    const path = places.resolve(context, given);
    await rootFiles.write(path, content, { signal: signalOf(context) });
    return context.json({ path, size: Buffer.byteLength(content) }, 200);
  });
  door.openapi(replace, async (context) => {
    const { path: given, replacements } = context.req.valid('json');
    const { files, path } = await fileAt(context, places, given);
    const signal = signalOf(context);
    const content = changedText(await files.readText(path, { signal }), replacements);
    await files.write(path, content, { signal });
    return context.json({ path, size: Buffer.byteLength(content) }, 200);
  });
  door.post('/files/mkdir', async (context) => {
    const { path: given } = await bodyOf(context, pathBody);
    const { rootFiles } = await places.use(context);
    const path = places.resolve(context, given, home);
    await rootFiles.mkdir(path, { signal: signalOf(context) });
    return context.json({ path }, 200);
  });
  door.post('/files/move', (context) => move(context, places));
  door.delete('/files/delete', async (context) => {
    const { rootFiles } = await places.use(context);
    const path = places.resolve(context, context.req.query('path') ?? '', home);
    const signal = signalOf(context);
    const facts = await factsOf(rootFiles, path, signal);
    if (!(await rootFiles.remove(path, { signal })))
      throw new GeodeError('file_not_found', 'Path not found.');
    return context.json({ path, type: facts?.type === 'directory' ? 'directory' : 'file' }, 200);
  });
  door.post('/files/upload', async (context) => {
    const file = (await context.req.formData()).get('file');
    if (!(file instanceof File)) throw missing('file');
    const { rootFiles } = await places.use(context);
    const folder = places.resolve(context, context.req.query('directory') ?? '', home);
    const path = posix.join(folder, posix.basename(file.name) || 'upload');
    await rootFiles.write(path, file.stream(), { signal: signalOf(context) });
    return context.json({ path, size: file.size }, 200);
  });
}

async function move(context: Context<ApiEnv>, places: Places): Promise<Response> {
  const asked = await bodyOf(context, z.object({ source: z.string(), destination: z.string() }));
  const { rootFiles } = await places.use(context);
  const signal = signalOf(context);
  const source = places.resolve(context, asked.source, home);
  const destination = places.resolve(context, asked.destination, home);
  if (!(await rootFiles.exists(source, { signal })))
    throw new GeodeError('file_not_found', 'Source path not found.');
  const parent = await factsOf(rootFiles, posix.dirname(destination), signal);
  if (parent?.type !== 'directory')
    throw new GeodeError('invalid_input', 'Destination parent directory not found.');
  if (await rootFiles.exists(destination, { signal }))
    return context.json({ detail: 'Destination already exists' }, 409);
  await rootFiles.move(source, destination, { signal });
  return context.json({ source, destination }, 200);
}

function missing(field: string): GeodeError {
  const problems = [{ type: 'missing', loc: ['body', field], msg: 'Field required', input: null }];
  return new GeodeError('invalid_input', `${field} is missing.`, { details: { problems } });
}

async function listingOf(files: Files, path: string, signal: AbortSignal): Promise<object> {
  const own = await files.stat(home, { follow: true, signal });
  const dir = await files.stat(path, { follow: true, signal });
  const { entries } = await files.list(path, { depth: 1, signal });
  const shown = await Promise.all(
    entries.map(async (entry) => {
      const facts = entry.type === 'symlink' ? await factsOf(files, entry.path, signal) : entry;
      return {
        name: entry.name,
        type: facts?.type === 'directory' ? 'directory' : 'file',
        size: facts?.size ?? 0,
        modified: (facts?.mtimeMs ?? entry.mtimeMs) / 1000,
        writable: isWritable(facts ?? entry, own),
      };
    }),
  );
  return { dir: path, writable: isWritable(dir, own), entries: shown };
}

/** For the owner of the home folder, who runs every command. */
function isWritable({ uid, mode }: FileFacts, own: FileFacts): boolean {
  return own.uid === 0 || (mode & (uid === own.uid ? 0o200 : 0o002)) !== 0;
}

const path = z.string().describe('Absolute, or relative to the working folder.');
const line = z.coerce.number().int().min(1).optional();

const list = tool('get', '/files/list', {
  id: 'list_files',
  summary: 'List a folder',
  description: 'List the files and folders in a folder, with sizes and times.',
  query: z.object({ directory: z.string().default('.').describe('The folder.') }),
});

const read = tool('get', '/files/read', {
  id: 'read_file',
  summary: 'Read a file',
  description: 'Read a text file, whole or some lines of it. PDF files come as text, images as they are.',
  query: z.object({
    path,
    start_line: line.describe('First line, from 1.'),
    end_line: line.describe('Last line, included.'),
  }),
});

const display = tool('get', '/files/display', {
  id: 'display_file',
  summary: 'Show a file to the user',
  description: "Open a file in the user's viewer. It does not return the content: use read_file for that.",
  query: z.object({ path }),
});

const write = bodyTool('/files/write', {
  id: 'write_file',
  summary: 'Write a file',
  description: 'Write text to a file. Creates missing folders and replaces an existing file.',
  body: z.object({ path, content: z.string().describe('The whole content.') }),
});

const replace = bodyTool('/files/replace', {
  id: 'replace_file_content',
  summary: 'Replace text in a file',
  description: 'Replace exact texts in a file, one after another.',
  body: z.object({ path, replacements: z.array(replacementSchema) }),
});
