import { describe, expect, it } from 'vitest';
import { KeyedTurns } from '../../src/base/keyed-turns.ts';

const soon = { timeout: 60_000 };

describe('turns', () => {
  /** Work that records its start and runs until it is released. */
  const works = () => {
    const turns = new KeyedTurns();
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const ask = (name: string, keys: readonly string[], signal?: AbortSignal) =>
      turns.in(
        keys,
        () => {
          begun.push(name);
          return new Promise<void>((resolve) => ends.set(name, resolve));
        },
        { what: name, signal },
      );
    return { turns, begun, ask, end: (name: string) => ends.get(name)?.() };
  };

  it('run in the order of the calls; a call takes all of its keys at once', async () => {
    const { turns, begun, ask, end } = works();
    const calls = [
      ask('first', ['a']),
      ask('both', ['b', 'a', 'b']),
      ask('last', ['b']),
      ask('other', ['c']),
    ];
    await expect.poll(() => begun, soon).toEqual(['first', 'other']);
    end('first');
    await expect.poll(() => begun, soon).toEqual(['first', 'other', 'both']);
    for (const name of ['both', 'other', 'last']) {
      end(name);
      await expect.poll(() => begun.includes('last'), soon).toBe(true);
    }
    end('last');
    await Promise.all(calls);
    for (const key of ['a', 'b', 'c']) expect(turns.has(key)).toBe(false);
  });

  it('the next turn starts after a failure, and after a waiting caller gives up', async () => {
    const { turns, begun, ask, end } = works();
    const failing = turns.in(['a'], () => Promise.reject(new Error('no')));
    const first = ask('first', ['a']);
    const stop = new AbortController();
    const given = ask('given up', ['b', 'a'], stop.signal);
    const next = ask('next', ['b']);
    await expect(failing).rejects.toThrow('no');
    await expect.poll(() => begun, soon).toEqual(['first']);
    stop.abort();
    await expect(given).rejects.toMatchObject({ code: 'cancelled' });
    await expect.poll(() => begun, soon).toEqual(['first', 'next']);
    end('first');
    end('next');
    await Promise.all([first, next]);
    expect([turns.has('a'), turns.has('b')]).toEqual([false, false]);
  });
});
