/** Bytes in JSON: as text where they are text, in base64 otherwise. */
import { z } from 'zod';

const base64Schema = z.base64().describe('Bytes in base64.');

/** What a caller sends. */
export const bytesSchema = z
  .union([z.strictObject({ text: z.string() }), z.strictObject({ base64: base64Schema })])
  .meta({ id: 'Bytes' });

/** The fields of an event with bytes: exactly one of the two is there. */
export const bytesShape = {
  text: z.string().optional().describe('The bytes, where they are UTF-8.'),
  base64: base64Schema.optional().describe('The bytes, where they are not.'),
};

export type WireBytes = z.infer<typeof bytesSchema>;

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function wireBytes(bytes: Uint8Array): WireBytes {
  try {
    return { text: strict.decode(bytes) };
  } catch {
    return { base64: base64Of(bytes) };
  }
}

export function bytesOf({
  text,
  base64,
}: {
  readonly text?: string | undefined;
  readonly base64?: string | undefined;
}): Uint8Array {
  if (base64 === undefined) return new TextEncoder().encode(text ?? '');
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** Works in every browser, and piece by piece: a call takes only so many arguments. */
function base64Of(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += pieceBytes)
    binary += String.fromCharCode(...bytes.subarray(at, at + pieceBytes));
  return btoa(binary);
}

const pieceBytes = 32 * 1024;
