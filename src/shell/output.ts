import { type Frame, unknown } from './frame.ts';

/**
 * The output of a program that the policy does not follow: it comes from where its input came from, and it
 * hides an input that was known.
 */
export function outputOf(frame: Frame, input = frame.stdin): string {
  const origin = frame.inspection.unknowns.originOf(input);
  return unknown(frame, origin ?? (input.trim() === '' ? 'unknown' : 'disguised'));
}
