/** Encodings of bytes and names in JSON and in paths. Without zod, because the client loads this file. */

type WireBytes = { readonly text: string } | { readonly base64: string };

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

/** Works in every browser. In pieces, because a call takes a limited number of arguments. */
function base64Of(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += pieceBytes)
    binary += String.fromCharCode(...bytes.subarray(at, at + pieceBytes));
  return btoa(binary);
}

const pieceBytes = 32 * 1024;

const plain = /^(?!~|\.{1,2}$)/;

/** A chat name in a path: see `chatSchema`. */
export function chatSegment(chat: string): string {
  if (plain.test(chat)) return encodeURIComponent(chat);
  const binary = String.fromCharCode(...new TextEncoder().encode(chat));
  return `~${btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

export function chatOf(segment: string): string | undefined {
  if (!segment.startsWith('~')) return segment;
  try {
    const binary = atob(segment.slice(1).replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
