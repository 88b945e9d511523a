import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * A line with its number and the proof that its writer knows the secret of the request. What a tool prints, and what any
 * other program writes to the same stream, has no such proof; a line that is written again has an old number.
 */
export function signedLine(secret: string, number: number, text: string): string {
  return `${proofOf(secret, number, text)} ${number} ${text}`;
}

/** Undefined for a line that is not the one with this number, or that somebody else wrote. */
export function verifiedLine(secret: string, number: number, line: string): string | undefined {
  const [, given = '', written, text] = /^([0-9a-f]{64}) (\d{1,15}) (.*)$/s.exec(line) ?? [];
  if (text === undefined || Number(written) !== number) return undefined;
  const expected = proofOf(secret, number, text);
  return timingSafeEqual(Buffer.from(given), Buffer.from(expected)) ? text : undefined;
}

/** Answers of the host have this number, and lines of the program none that is so low. */
export const hostNumber = 0;

function proofOf(secret: string, number: number, text: string): string {
  return createHmac('sha256', secret).update(`${number} ${text}`).digest('hex');
}
