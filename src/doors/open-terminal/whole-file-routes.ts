/** Several files at once: an archive of them, and a comparison of two. */
import { posix } from 'node:path';
import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ApiEnv } from '../../api/environment.ts';
import { signalOf } from '../../api/streams.ts';
import { GeodeError } from '../../base/errors.ts';
import type { Files } from '../../seams/files.ts';
import { bodyOf } from '../json-body.ts';
import { compareTexts } from './compare-texts.ts';
import { textAt } from './file-answers.ts';
import { factsOf, fileAt, lookedAt } from './look.ts';
import { home, type Places } from './place.ts';
import type { WireDoor } from './routes.ts';
import { type ZipEntry, zip } from './zip.ts';

const mostFiles = 20_000;
const comparison = z.object({
  original: z.string(),
  revised: z.string(),
  ignore_whitespace: z.boolean().default(false),
});

export function wholeFileRoutes(door: WireDoor, places: Places): void {
  door.post('/files/archive', async (context) => {
    const { paths } = await bodyOf(context, z.object({ paths: z.array(z.string()) }));
    const [only, ...more] = paths;
    if (only === undefined) throw new GeodeError('invalid_input', 'No paths provided.');
    const entries: ZipEntry[] = [];
    for (const path of paths) entries.push(...(await entriesOf(context, places, path)));
    const name = more.length === 0 ? posix.basename(places.resolve(context, only, home)) : 'download';
    context.header('Content-Type', 'application/zip');
    context.header('Content-Disposition', `attachment; filename*=UTF-8''${encodeURIComponent(name)}.zip`);
    return context.body(ReadableStream.from(zip(entries)), 200);
  });
  door.post('/files/compare', async (context) => {
    const asked = await bodyOf(context, comparison);
    const side = async (given: string) => {
      const file = await fileAt(context, places, given);
      return {
        path: file.path,
        name: posix.basename(file.path),
        text: await textAt(file, signalOf(context)),
      };
    };
    const { text: before, ...original } = await side(asked.original);
    const { text: after, ...revised } = await side(asked.revised);
    const changes = compareTexts(before, after, asked.ignore_whitespace);
    const notices: readonly string[] = [];
    return context.json(
      { original: { ...original, notices }, revised: { ...revised, notices }, ...changes },
      200,
    );
  });
}

/** A file, or all files below a folder; links to nothing are left out. */
async function entriesOf(
  context: Context<ApiEnv>,
  places: Places,
  given: string,
): Promise<readonly ZipEntry[]> {
  const signal = signalOf(context);
  const { files, path } = await lookedAt(context, places, places.resolve(context, given, home));
  const facts = await factsOf(files, path, signal);
  const name = posix.basename(path) || 'dir';
  if (facts?.type === 'file') return [entryOf(files, path, name, signal)];
  if (facts?.type !== 'directory') throw new GeodeError('file_not_found', `Path not found: ${given}.`);
  const { entries } = await files.list(path, { depth: 0, limit: mostFiles, signal });
  return entries
    .filter(({ type }) => type === 'file')
    .map((each) => entryOf(files, each.path, posix.join(name, posix.relative(path, each.path)), signal));
}

function entryOf(files: Files, path: string, name: string, signal: AbortSignal): ZipEntry {
  return { name, read: () => files.stream(path, { signal }) };
}
