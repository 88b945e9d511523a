/**
 * The text of a file: plain text, Markdown and code unchanged, HTML and PDF converted.
 *
 * HTML and PDF come from strangers and their parsers are large, so each runs in its own process with a deadline and
 * memory limits: a hostile file ends that process, not the server.
 */
import type { Cancel } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import { memoryLimits } from '../../seams/memory.ts';
import { extractInProcess, type MarkedUp } from './extract-process.ts';

export interface SourceFile {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Throws `unreadable_file` for binary files, and `too_large` for more text than an entry may have. */
export async function extractText(file: SourceFile, options: Cancel = {}): Promise<string> {
  const text = await textOf(file, options);
  if (text.trim() === '') throw unreadable(file, 'there is no text in it');
  if (text.length > memoryLimits.contentLength) {
    throw new GeodeError(
      'too_large',
      `${file.name} has more than ${memoryLimits.contentLength} characters of text, the maximum of an entry`,
      {
        hint: `Split it into files of at most ${memoryLimits.contentLength} characters.`,
      },
    );
  }
  return text;
}

async function textOf(file: SourceFile, options: Cancel): Promise<string> {
  if (startsWith(file.bytes, '%PDF-')) return markedUp(file, { kind: 'pdf', bytes: file.bytes }, options);
  const text = decode(file);
  if (!/\.x?html?$/i.test(file.name)) return text;
  return markedUp(file, { kind: 'html', bytes: Buffer.from(text) }, options);
}

async function markedUp(file: SourceFile, source: MarkedUp, options: Cancel): Promise<string> {
  const extraction = await extractInProcess(source, { what: `Reading ${file.name}`, ...options });
  if ('text' in extraction) return extraction.text;
  throw unreadable(file, extraction.failure);
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

function unreadable(file: SourceFile, reason: string): GeodeError {
  return new GeodeError('unreadable_file', `${file.name} cannot be read: ${reason}`);
}
