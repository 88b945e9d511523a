/**
 * Refuses a PDF with a stream that inflates beyond a limit, before its parser inflates it. Every stream that inflates
 * is checked, whatever its name. Filters may be nested, so the output is checked again. Pictures are skipped: they
 * are large in honest files too, and their text is not read.
 */
import { constants, inflateSync } from 'node:zlib';

const MOST_INFLATED = 64 * 2 ** 20;
const MOST_LAYERS = 8;
/** How far before a stream to search for its dictionary. */
const DICTIONARY = 512;

/** Throws an error that says why. */
export function refuseBombs(pdf: Buffer): void {
  for (const { dictionary, bytes } of streamsOf(pdf)) {
    if (/\/Image\b/.test(dictionary)) continue;
    let layer: Buffer | null = bytes;
    for (let depth = 0; layer !== null && depth < MOST_LAYERS; depth += 1) layer = inflated(layer);
    if (layer !== null) throw new Error('a part of it is compressed too many times');
  }
}

interface PdfStream {
  readonly dictionary: string;
  readonly bytes: Buffer;
}

function* streamsOf(pdf: Buffer): Generator<PdfStream> {
  const word = 'stream';
  for (let at = pdf.indexOf(word); at !== -1; at = pdf.indexOf(word, at + word.length)) {
    if (pdf.toString('latin1', at - 3, at) === 'end') continue;
    const start = at + word.length + (pdf[at + word.length] === 0x0d ? 2 : 1);
    const end = pdf.indexOf('endstream', start);
    yield {
      dictionary: pdf.toString('latin1', Math.max(0, at - DICTIONARY), at),
      bytes: pdf.subarray(start, end === -1 ? pdf.length : end),
    };
  }
}

/** Null if it is not deflated. */
function inflated(bytes: Buffer): Buffer | null {
  if (((bytes[0] ?? 0) & 0x0f) !== 8 || (((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0)) % 31 !== 0) return null;
  try {
    // A truncated stream is inflated as far as possible, because parsers do that too.
    return inflateSync(bytes, { maxOutputLength: MOST_INFLATED, finishFlush: constants.Z_SYNC_FLUSH });
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_BUFFER_TOO_LARGE') {
      throw new Error(`a part of it expands to more than ${MOST_INFLATED / 2 ** 20} MB`);
    }
    return null;
  }
}
