import { shortenMiddle } from '../../base/shorten-middle.ts';

/** Maximum characters of one tool result. */
const longestOutput = 30_000;

/** The part of a tool's output that a conversation stores. */
export const shortened = (output: string) => shortenMiddle(output, longestOutput);
