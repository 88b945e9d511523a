import { type Frame, unknown } from './frame.ts';

/** Programs that print a changed form of what they read. */
const filters = new Set(
  (
    'awk gawk mawk nawk sed cut sort uniq grep egrep fgrep fold fmt paste nl column expand rot13 iconv tr rev jq perl python ruby ' +
    'gunzip zcat bunzip2 bzcat unxz xzcat zstd dd od hexdump strings'
  ).split(' '),
);

/**
 * The output of a program that the policy does not follow: it comes from where its input came from, and a
 * filter hides an input that was known.
 */
export function outputOf(name: string, frame: Frame, input = frame.stdin): string {
  const origin = frame.inspection.unknowns.originOf(input);
  const hides = filters.has(name) && input.trim() !== '';
  return unknown(frame, origin ?? (hides ? 'disguised' : 'unknown'));
}
