/** Filters the answer of an upstream: only parts that can be searched for the credential pass. */
import type { IncomingMessage } from 'node:http';
import { spellingsOf } from '../../base/secret-shapes.ts';
import { type AnswerMessage, type Fields, fieldName, readAnswerMessage } from '../proxy/http-message.ts';
import type { Binding } from './bindings.ts';
import { coverText } from './credential-filter.ts';

/**
 * The credential in the forms that an echo may return: plain, as a header value, and encoded for JSON, URLs and
 * base64.
 */
export function credentialsOf({ header }: Binding, secret: string | undefined): readonly string[] {
  if (secret === undefined) return [];
  const [, value] = header(secret);
  return spellingsOf([value.replace(/^(Bearer|Basic) /, ''), secret]);
}

export function readBoundAnswer(
  received: IncomingMessage,
  method: string,
  credentials: readonly string[],
): AnswerMessage | { readonly problem: string } {
  const answer = readAnswerMessage(received, method);
  if ('problem' in answer) return answer;
  if (isEncoded(answer.fields))
    return { problem: 'the answer is compressed, so it cannot be searched for the credential' };
  if (credentials.length > 0 && isPartial(answer))
    return { problem: 'the answer is partial and may contain part of the credential' };
  const cover = (text: string) => coverText(text, credentials);
  const fields = answer.fields
    .filter(([name]) => fieldName(name) !== 'set-cookie')
    .map(([name, value]) => [cover(name), cover(value)] as const);
  return { ...answer, reason: cover(answer.reason), fields };
}

function isEncoded(fields: Fields): boolean {
  return fields.some(
    ([name, value]) => fieldName(name) === 'content-encoding' && value.trim().toLowerCase() !== 'identity',
  );
}

/** Geode asked for no range and no delta. */
function isPartial({ status, fields }: AnswerMessage): boolean {
  const has = (wanted: string, value: RegExp) =>
    fields.some(([name, given]) => fieldName(name) === wanted && value.test(given));
  return (
    status === 206 ||
    status === 226 ||
    has('content-range', /^/) ||
    has('content-type', /multipart\/byteranges/i)
  );
}
