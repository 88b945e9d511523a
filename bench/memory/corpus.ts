/**
 * As many entries as wanted from a few thousand real sentences: each is made of two of them, in text and in
 * vector, with some noise, so that words and meanings are spread as in real text and nothing is a copy.
 */
import type { Embedder } from '../../src/seams/memory.ts';
import { keptVectors } from './bench-memory.ts';
import { seeded } from './measure.ts';
import type { SciFact } from './scifact.ts';

export interface Corpus {
  readonly queries: readonly { readonly text: string; readonly vector: Float32Array }[];
  /** As long as what people ask a memory; a claim of science is about twice that. */
  readonly shortQueries: readonly { readonly text: string }[];
  item(number: number): { readonly text: string; readonly vector: Float32Array };
}

const SENTENCES = 2_000;
const QUERIES = 300;
const NOISE = 0.04;
const SHORT_LENGTH = 50;

export async function makeCorpus({ documents, claims }: SciFact, embedder: Embedder): Promise<Corpus> {
  const sentences = documents
    .flatMap(({ text }) => text.split(/(?<=[.!?])\s+/))
    .filter((sentence) => sentence.length > 40 && sentence.length < 240)
    .filter((_, i, all) => i % Math.floor(all.length / SENTENCES) === 0)
    .slice(0, SENTENCES);
  const vectors = await keptVectors(sentences, embedder, 'entry');
  const questions = claims.train.slice(0, QUERIES).map(({ text }) => text);
  const asked = await keptVectors(questions, embedder, 'query');
  return {
    queries: questions.map((text, i) => ({ text, vector: asked[i] ?? new Float32Array() })),
    shortQueries: claims.train
      .filter(({ text }) => text.length <= SHORT_LENGTH)
      .flatMap(({ text }) => [',', ';', ':'].map((mark) => ({ text: `${text}${mark}` }))),
    item(number) {
      const random = seeded(number + 1);
      random();
      const [a, b, share] = [
        Math.floor(random() * sentences.length),
        Math.floor(random() * sentences.length),
        0.5 + random() / 2,
      ];
      const [first = new Float32Array(), second = new Float32Array()] = [vectors[a], vectors[b]];
      const mixed = first.map(
        (value, i) => share * value + (1 - share) * (second[i] ?? 0) + (random() - 0.5) * NOISE,
      );
      const length = Math.hypot(...mixed);
      const words = (text: string | undefined) => (text ?? '').split(' ');
      const [start, end] = [words(sentences[a]), words(sentences[b])];
      const text = [
        ...start.slice(0, Math.ceil(start.length * share)),
        ...end.slice(Math.ceil(end.length * share)),
        `#${number}`,
      ].join(' ');
      return { text, vector: mixed.map((value) => value / length) };
    },
  };
}
