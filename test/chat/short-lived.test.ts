import { expect, it } from 'vitest';
import { ShortLived } from '../../src/chat/channels/short-lived.ts';

it('an object is replaced after its maximum number of uses, and reused until then', () => {
  let made = 0;
  const lived = new ShortLived(() => {
    made += 1;
    return made;
  }, 2);
  expect([lived.one, lived.one, lived.one, lived.one, lived.one]).toEqual([1, 1, 2, 2, 3]);
});
