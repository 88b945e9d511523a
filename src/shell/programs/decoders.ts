import type { Field } from '../field.ts';
import { unknown } from '../frame.ts';
import { readOptions } from '../options.ts';
import type { Call, Program } from './call.ts';
import { inputOf } from './text.ts';

/** Programs that turn text into other text: what comes out is not worked out, only marked as hidden. */
export const decoders: Readonly<Record<string, Program>> = {
  base64: decode,
  base32: decode,
  basenc: decode,
  xxd: (call) => (codecOptions(call.args).flags.has('r') ? hidden(call) : undefined),
  openssl: runOpenssl,
  uudecode: ({ frame }) => unknown(frame, 'decoded'),
};

function codecOptions(args: readonly Field[]) {
  return readOptions(args, { short: 'wcglos', long: ['wrap'] });
}

function decode(call: Call): string | undefined {
  const { flags } = codecOptions(call.args);
  return ['d', 'D', 'decode'].some((flag) => flags.has(flag)) ? hidden(call) : undefined;
}

function runOpenssl(call: Call): string | undefined {
  const words = new Set(call.args.map((argument) => argument.text));
  if (words.has('s_client')) return unknown(call.frame, 'connection');
  return words.has('-d') ? hidden(call, call.frame.stdin) : undefined;
}

/** What came from elsewhere still does when it is decoded. */
function hidden(
  { args, frame }: Call,
  input = inputOf(codecOptions(args).operands.slice(0, 1), frame),
): string {
  const origin = frame.inspection.unknowns.originOf(input);
  const graver = origin === 'downloaded' || origin === 'connection' || origin === 'shell';
  return unknown(frame, graver ? origin : 'decoded');
}
