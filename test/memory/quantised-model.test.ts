import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openLocalEmbedder } from '../../src/memory/embed/local-embedder.ts';
import { modelOrSkip } from './model-or-skip.ts';

/** Outputs of the model's 32-bit source file for some texts; the last is longer than its window. */
const original: readonly { readonly text: string; readonly vector: readonly number[] }[] = JSON.parse(
  readFileSync(new URL('./fixtures/gte-small-fp32.json', import.meta.url), 'utf8'),
);

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const dot = (x: ArrayLike<number>, y: ArrayLike<number>) =>
    Array.from(x).reduce((sum, value, i) => sum + value * (y[i] ?? 0), 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

describe('the quantised model', () => {
  it('gives nearly the same vectors as the original model for short and long texts (MEM-3)', async (context) => {
    await using embedder = openLocalEmbedder({ folder: await modelOrSkip(context) });
    for (const { text, vector } of original) {
      const [own = []] = await embedder.embed([text], 'query');
      expect(cosine(own, vector)).toBeGreaterThan(0.993);
    }
  }, 300_000);

  it('gives a text the same vector alone or in a batch, as entry or query (MEM-3)', async (context) => {
    await using embedder = openLocalEmbedder({ folder: await modelOrSkip(context) });
    const texts = original.map(({ text }) => text);
    const together = await embedder.embed(texts, 'entry');
    for (const [i, text] of texts.entries()) {
      expect(await embedder.embed([text], 'query')).toEqual([together[i]]);
    }
  }, 300_000);

  it('embeds a query before earlier entries (MEM-3)', async (context) => {
    await using embedder = openLocalEmbedder({ folder: await modelOrSkip(context) });
    await embedder.embed(['The model is loaded now.'], 'entry');
    const answered: string[] = [];
    const entries = embedder.embed(Array(30).fill('an entry of some length '.repeat(20)), 'entry');
    const query = embedder.embed(['a short question'], 'query');
    await Promise.all([
      entries.then(() => answered.push('entries')),
      query.then(() => answered.push('query')),
    ]);
    expect(answered).toEqual(['query', 'entries']);
  }, 300_000);
});
