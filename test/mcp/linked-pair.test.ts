import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { linkedPair } from '../../src/mcp/sessions/linked-pair.ts';

it('carries written bytes, and closes both ends when one is destroyed', async () => {
  const [one, other] = linkedPair();
  one.write('from one\n');
  expect(String((await once(other, 'data'))[0])).toBe('from one\n');
  const closed = once(other, 'close');
  one.destroy();
  await closed;
  expect(other.destroyed).toBe(true);
});

it('delivers all bytes before a clean end', async () => {
  const [one, other] = linkedPair();
  one.end('the last words');
  other.end();
  expect(await text(other)).toBe('the last words');
});
