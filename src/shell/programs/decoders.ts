import type { Field } from '../field.ts';
import { type Frame, unknown } from '../frame.ts';
import { readOptions } from '../options.ts';
import { outputOf } from '../output.ts';
import { hasUnknown, withoutMarks } from '../unknowns.ts';
import type { Call, Program } from './call.ts';
import { decodeEscapes } from './printf.ts';
import { inputOf } from './text.ts';

/** Programs that turn text into other text: what is known is decoded, the rest is marked as hidden. */
export const decoders: Readonly<Record<string, Program>> = {
  base64: (call) => (asksToDecode(call) ? decode(call, fromBase64) : undefined),
  base32: (call) => (asksToDecode(call) ? decode(call, () => undefined) : undefined),
  basenc: (call) => (asksToDecode(call) ? decode(call, () => undefined) : undefined),
  xxd: (call) => (codecOptions(call.args).flags.has('r') ? decode(call, fromHex) : undefined),
  openssl: runOpenssl,
  uudecode: ({ frame }) => unknown(frame, 'decoded'),
  rev: reverse,
  tr: translate,
};

function codecOptions(args: readonly Field[]) {
  return readOptions(args, { short: 'wcglos', long: ['wrap'] });
}

function asksToDecode({ args }: Call): boolean {
  return ['d', 'D', 'decode'].some((flag) => codecOptions(args).flags.has(flag));
}

function decode({ args, frame }: Call, decoder: (text: string) => string | undefined): string {
  const input = inputOf(codecOptions(args).operands.slice(0, 1), frame);
  const decoded = hasUnknown(input) ? undefined : decoder(input);
  return decoded !== undefined && isPlain(decoded) ? decoded : hidden(input, frame);
}

function isPlain(text: string): boolean {
  return /^[\t\n\r\x20-\x7e]*$/.test(text);
}

/** What comes out cannot be told; what came from elsewhere still does. */
function hidden(input: string, frame: Frame): string {
  const origin = frame.inspection.unknowns.originOf(input);
  const graver = origin === 'downloaded' || origin === 'connection' || origin === 'shell';
  return unknown(frame, graver ? origin : 'decoded');
}

function fromBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('latin1');
}

function fromHex(text: string): string | undefined {
  const digits = text.replace(/^\w+:|\s+/gm, '');
  return /^(?:[\da-f]{2})*$/i.test(digits) ? Buffer.from(digits, 'hex').toString('latin1') : undefined;
}

function runOpenssl({ args, frame }: Call): string | undefined {
  const words = new Set(args.map((argument) => argument.text));
  if (words.has('s_client')) return unknown(frame, 'connection');
  if (!words.has('-d')) return undefined;
  const decoded =
    words.has('base64') && !words.has('-in') && !hasUnknown(frame.stdin) && fromBase64(frame.stdin);
  return decoded !== false && isPlain(decoded) ? decoded : hidden(frame.stdin, frame);
}

function reverse({ name, args, frame }: Call): string {
  const text = inputOf(args, frame);
  if (hasUnknown(text)) return outputOf(name, frame, text);
  return text.replace(/[^\n]+/g, (line) => [...line].reverse().join(''));
}

function translate({ name, args, frame }: Call): string {
  const { flags, operands } = readOptions(args, {});
  const [from = '', to = ''] = operands.map((operand) => withRanges(decodeEscapes(operand.text)));
  const complements = ['c', 'C', 'complement'].some((flag) => flags.has(flag));
  if (hasUnknown(frame.stdin) || complements || /\[:/.test(from + to)) return outputOf(name, frame);
  const deletes = flags.has('d') || flags.has('delete');
  const translated = Array.from(frame.stdin, (character) => {
    const index = from.lastIndexOf(character);
    if (index < 0) return character;
    return deletes || to === '' ? '' : to.charAt(Math.min(index, to.length - 1));
  });
  return withoutMarks(translated.join(''));
}

const widestRange = 256;

/** `a-e` spelled out. */
function withRanges(set: string): string {
  return set.replace(/([^\\])-(.)/gs, (_, low: string, high: string) => {
    const first = low.charCodeAt(0);
    const count = Math.min(widestRange, Math.max(0, high.charCodeAt(0) - first + 1));
    return Array.from({ length: count }, (_item, index) => String.fromCharCode(first + index)).join('');
  });
}
