/**
 * The text of a file: plain text, Markdown and code as they are, HTML and PDF turned into text.
 *
 * HTML and PDF come from strangers and their parsers are large, so each runs in a worker with a deadline and a
 * bound on its memory: a hostile file costs one worker, not the server.
 */
import { Worker } from 'node:worker_threads';
import type { Cancel } from '../../core/cancel.ts';
import { GeodeError } from '../../core/errors.ts';
import { limits } from '../../core/memory.ts';

export interface SourceFile {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Throws `unreadable_file` for what is not text, and `too_large` for more text than an entry holds. */
export async function extractText(file: SourceFile, options: Cancel = {}): Promise<string> {
  const text = await textOf(file, options);
  if (text.trim() === '') throw unreadable(file, 'there is no text in it');
  if (text.length > limits.contentLength) {
    throw new GeodeError(
      'too_large',
      `${file.name} has ${text.length} characters of text, more than an entry holds`,
      {
        hint: `Split it into files of at most ${limits.contentLength} characters.`,
      },
    );
  }
  return text;
}

async function textOf(file: SourceFile, options: Cancel): Promise<string> {
  if (startsWith(file.bytes, '%PDF-')) return extractInWorker(file, { pdf: file.bytes }, options);
  const text = decode(file);
  return /\.x?html?$/i.test(file.name) ? extractInWorker(file, { html: text }, options) : text;
}

function decode(file: SourceFile): string {
  const encoding = startsWith(file.bytes, '\xff\xfe')
    ? 'utf-16le'
    : startsWith(file.bytes, '\xfe\xff')
      ? 'utf-16be'
      : 'utf-8';
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(file.bytes);
    if (!text.includes('\0')) return text;
  } catch {
    // The same answer as for a NUL, below.
  }
  throw unreadable(file, 'it is neither text nor PDF');
}

function startsWith(bytes: Uint8Array, prefix: string): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, prefix.length)).equals(
    Buffer.from(prefix, 'latin1'),
  );
}

export type ExtractionWork = { readonly pdf: Uint8Array } | { readonly html: string };
export type Extraction = { readonly text: string } | { readonly failure: string };

async function extractInWorker(file: SourceFile, work: ExtractionWork, { signal }: Cancel): Promise<string> {
  const worker = new Worker(new URL('./extract-worker.ts', import.meta.url), {
    workerData: work,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  const deadline = AbortSignal.timeout(extractTimeoutMs);
  const { promise, resolve, reject } = Promise.withResolvers<Extraction>();
  const stop = () => reject(new GeodeError('cancelled', `Reading ${file.name} was cancelled`));
  worker.once('message', resolve);
  worker.once('error', () => resolve({ failure: 'its parser gave up' }));
  deadline.addEventListener('abort', () => resolve({ failure: 'reading it takes too long' }), { once: true });
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const extraction = await promise;
    if ('text' in extraction) return extraction.text;
    throw unreadable(file, extraction.failure);
  } finally {
    signal?.removeEventListener('abort', stop);
    await worker.terminate();
  }
}

const extractTimeoutMs = 60_000;

function unreadable(file: SourceFile, reason: string): GeodeError {
  return new GeodeError('unreadable_file', `${file.name} cannot be read: ${reason}`);
}
