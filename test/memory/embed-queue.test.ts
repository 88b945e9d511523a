import { describe, expect, it } from 'vitest';
import { EmbedQueue } from '../../src/memory/embed/embed-queue.ts';
import type { Embedder } from '../../src/seams/memory.ts';
import { wordEmbedder } from './word-embedder.ts';

/** An embedder that keeps each of its calls, and waits before the first until it is let go. */
function recorded(batchLength: number) {
  const calls: { readonly texts: readonly string[]; readonly purpose: string }[] = [];
  const gate = Promise.withResolvers<void>();
  const words = wordEmbedder();
  const embedder: Embedder = {
    ...words,
    batchLength,
    async embed(texts, purpose) {
      calls.push({ texts, purpose });
      await gate.promise;
      return words.embed(texts, purpose);
    },
  };
  return { queue: new EmbedQueue(embedder), calls, letGo: () => gate.resolve() };
}

const entriesOf = (calls: readonly { texts: readonly string[] }[]) => calls.map(({ texts }) => texts);

describe('the queue before an embedder (MEM-3)', () => {
  it('batches waiting texts into one call, up to its maximum size', async () => {
    const { queue, calls, letGo } = recorded(10);
    const first = queue.embed(['first'], 'entry');
    const others = ['aaaa', 'bbbb', 'cccc', 'd'.repeat(30), 'e'].map((text) => queue.embed([text], 'entry'));
    letGo();
    await Promise.all([first, ...others]);
    expect(entriesOf(calls)).toEqual([['first'], ['aaaa', 'bbbb'], ['cccc'], ['d'.repeat(30)], ['e']]);
  });

  it('embeds a repeated text once, separately for each purpose', async () => {
    const { queue, calls, letGo } = recorded(100);
    letGo();
    const [one] = await queue.embed(['same'], 'entry');
    const [two] = await queue.embed(['same'], 'entry');
    await queue.embed(['same'], 'query');
    expect(two).toBe(one);
    expect(calls.map(({ purpose }) => purpose)).toEqual(['entry', 'query']);
  });

  it('forgets the oldest text above the limit of its cache', async () => {
    const { queue, calls, letGo } = recorded(1e6);
    letGo();
    await queue.embed(['the oldest'], 'entry');
    await queue.embed(
      Array.from({ length: 4_095 }, (_, i) => `text ${i}`),
      'entry',
    );
    await queue.embed(['the oldest'], 'entry');
    expect(calls).toHaveLength(2);
    await queue.embed(['one more'], 'entry');
    await queue.embed(['the oldest'], 'entry');
    expect(calls).toHaveLength(4);
  });

  it('does not cache a failure', async () => {
    const words = wordEmbedder();
    const queue = new EmbedQueue(words);
    words.down = 'no model';
    await expect(queue.embed(['a'], 'entry')).rejects.toMatchObject({ code: 'embedder_failed' });
    words.down = null;
    expect(await queue.embed(['a'], 'entry')).toHaveLength(1);
  });

  it('gives owners turns, and serves queries first', async () => {
    const { queue, calls, letGo } = recorded(4);
    const big = queue.embed(['a1', 'a2', 'a3', 'a4', 'a5', 'a6'], 'entry', { owner: 'alice' });
    const small = queue.embed(['b1'], 'entry', { owner: 'bob' });
    const query = queue.embed(['q'], 'query');
    letGo();
    await Promise.all([big, small, query]);
    expect(calls.map(({ texts }) => texts.join(' '))).toEqual(['a1 a2', 'q', 'a3 b1', 'a4 a5', 'a6']);
  });

  it('skips texts whose caller cancelled', async () => {
    const { queue, calls, letGo } = recorded(1);
    const caller = new AbortController();
    const first = queue.embed(['1'], 'entry');
    const given = queue.embed(['2'], 'entry', { signal: caller.signal });
    caller.abort();
    letGo();
    await first;
    await expect(given).rejects.toMatchObject({ code: 'cancelled' });
    expect(entriesOf(calls)).toEqual([['1']]);
  });
});
