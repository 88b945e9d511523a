/** Filters the answer of an upstream: only parts that can be searched for the credential pass. */
import type { IncomingMessage } from 'node:http';
import { spellingsOf } from '../../base/secret-shapes.ts';
import { type AnswerMessage, type Fields, fieldName, readAnswerMessage } from '../proxy/http-message.ts';
import type { Binding } from './bindings.ts';
import { coverText } from './credential-filter.ts';

/** As it is, as it stands in the header, and in the encodings of JSON, URLs and base64: an echo may send back any. */
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
    return { problem: 'the answer is compressed and cannot be searched for the credential' };
  if (credentials.length > 0 && isPartial(answer))
    return { problem: 'the answer is a part, which may hold a part of the credential' };
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

/** Nobody asked for a range or a difference. */
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
