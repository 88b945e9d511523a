/** Content of files: text by lines, images as they are, and any file as bytes. */
import { posix } from 'node:path';
import type { Context } from 'hono';
import { getMimeType } from 'hono/utils/mime';
import { giveBytes } from '../../api/bytes.ts';
import type { ApiEnv } from '../../api/environment.ts';
import { signalOf } from '../../api/streams.ts';
import { GeodeError } from '../../base/errors.ts';
import { extractText } from '../../memory/extract/extract.ts';
import type { Files } from '../../seams/files.ts';

interface FileAt {
  readonly files: Files;
  readonly path: string;
  readonly size: number;
}

interface Lines {
  readonly start: number | undefined;
  readonly end: number | undefined;
}

export async function readAnswer(context: Context<ApiEnv>, file: FileAt, lines: Lines): Promise<Response> {
  const type = typeOf(file.path);
  if (type.startsWith('image/') && type !== 'image/svg+xml') return bytesAnswer(context, file);
  const text = await textAt(file, signalOf(context));
  const all = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const { start = 1, end = all.length } = lines;
  return context.json(
    { path: file.path, content: all.slice(start - 1, end).join(''), total_lines: all.length },
    200,
  );
}

export async function textAt({ files, path }: FileAt, signal: AbortSignal): Promise<string> {
  const bytes = new Uint8Array(await files.read(path, { signal }));
  return textIn(bytes) ?? (await documentText(path, bytes, signal));
}

function textIn(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.startsWith('%PDF-') || text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

async function documentText(
  path: string,
  bytes: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
): Promise<string> {
  if (Buffer.from(bytes.subarray(0, 5)).toString('latin1') === '%PDF-')
    return await extractText({ name: posix.basename(path), bytes }, { signal });
  throw new GeodeError(
    'unsupported_type',
    `Unsupported binary file type: ${typeOf(path)} (${bytes.length} bytes).`,
    { hint: 'Read it with a command.' },
  );
}

/** Ranges work. A script of a page from the sandbox gets no origin, so it cannot use the key of its viewer. */
export function bytesAnswer(context: Context<ApiEnv>, { files, path, size }: FileAt): Response {
  context.header('Content-Security-Policy', 'sandbox allow-scripts allow-forms allow-downloads');
  const signal = signalOf(context);
  const answer = giveBytes(
    context,
    { description: 'The file.', ranges: true },
    { size, read: (range) => files.stream(path, { ...range, signal }) },
  );
  answer.headers.set('Content-Type', typeOf(path));
  return answer;
}

function typeOf(path: string): string {
  return getMimeType(path) ?? 'application/octet-stream';
}
