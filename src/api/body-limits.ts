import { bodyLimit } from 'hono/body-limit';
import { GeodeError } from '../base/errors.ts';
import type { BodyLimit } from '../contract/operation.ts';

const mebibyte = 1024 ** 2;
export const bodyLimits: Readonly<Record<BodyLimit, ReturnType<typeof limitBody>>> = {
  // JSON may write one character in six bytes, and an entry has up to a million characters.
  entry: limitBody(8 * mebibyte),
  command: limitBody(16 * mebibyte),
  many: limitBody(64 * mebibyte),
};

function limitBody(maxSize: number) {
  return bodyLimit({
    maxSize,
    onError: () => {
      throw new GeodeError('too_large', `The body is larger than ${maxSize} bytes`);
    },
  });
}
