import { createTwoFilesPatch } from 'diff';
import { GeodeError } from '../../base/errors.ts';

/** Texts with little in common take long to compare, and the result would not help a person. */
const patience = { context: 3, timeout: 2_000 };

/** The unified diff of two texts; a missing side is empty. */
export function unifiedDiff(
  path: string,
  before: Uint8Array | undefined,
  after: Uint8Array | undefined,
): string {
  if (before === undefined && after === undefined) {
    throw new GeodeError('file_not_found', `${path} exists on neither side.`);
  }
  const [old, now] = [textOf(path, before), textOf(path, after)];
  if (old === now && (before === undefined) === (after === undefined)) return '';
  const from = before === undefined ? '/dev/null' : shown(`a/${path}`);
  const to = after === undefined ? '/dev/null' : shown(`b/${path}`);
  const patch = createTwoFilesPatch(from, to, old, now, undefined, undefined, patience);
  if (patch !== undefined) return patch.replace(/^=+\n/, '');
  throw new GeodeError('too_large', `The two versions of ${path} are too different to compare.`);
}

function textOf(path: string, bytes: Uint8Array | undefined): string {
  if (bytes === undefined) return '';
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch {
    // The same answer as for a NUL.
  }
  throw new GeodeError('not_a_file', `${path} is not text.`);
}

/** A name with a line break could look like a line of the diff. */
function shown(path: string): string {
  return /[\p{Cc}"\\]/u.test(path) ? JSON.stringify(path) : path;
}
