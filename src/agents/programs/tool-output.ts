import { bothEnds } from '../../base/both-ends.ts';

/** Characters of one result of a tool. */
const longestOutput = 30_000;

/** The part of a tool's output that a conversation keeps. */
export const shortened = (output: string) => bothEnds(output, longestOutput);
