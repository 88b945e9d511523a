import { bothEnds } from '../../base/both-ends.ts';

/** Characters of one result of a tool. */
const longestOutput = 30_000;

/** What a conversation keeps of a tool's output. */
export const shortened = (output: string) => bothEnds(output, longestOutput);
