import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * A line with its number and a proof that its writer knows the secret of the request. Output of tools and other
 * programs on the same stream has no such proof; a repeated line has an old number.
 */
export function signedLine(secret: string, number: number, text: string): string {
  return `${proofOf(secret, number, text)} ${number} ${text}`;
}

/** Undefined for a line with another number or from another writer. */
export function verifiedLine(secret: string, number: number, line: string): string | undefined {
  const [, given = '', written, text] = /^([0-9a-f]{64}) (\d{1,15}) (.*)$/s.exec(line) ?? [];
  if (text === undefined || Number(written) !== number) return undefined;
  const expected = proofOf(secret, number, text);
  return timingSafeEqual(Buffer.from(given), Buffer.from(expected)) ? text : undefined;
}

/** Numbers of the host's answers. Lines of the program never have numbers this low. */
export const hostNumber = 0;

function proofOf(secret: string, number: number, text: string): string {
  return createHmac('sha256', secret).update(`${number} ${text}`).digest('hex');
}
