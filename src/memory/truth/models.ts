/**
 * The vector spaces in the truth. A new model first embeds a few unrelated texts: their mean is the model's centre,
 * and their similarity is what "unrelated" means for this model. Some models give 0 for unrelated texts, others 0.7.
 */
import { GeodeError } from '../../base/errors.ts';
import type { Embedder } from '../../seams/memory.ts';
import { bytesOf, numberOf, type Row } from './columns.ts';
import type { Sql, Truth } from './truth.ts';

export interface EmbeddingModel {
  readonly id: number;
  readonly dimensions: number;
  readonly centre: Float32Array;
  readonly background: number;
}

/** Throws `embedder_failed` if the model is new and does not answer. */
export async function registerModel(truth: Truth, embedder: Embedder): Promise<EmbeddingModel> {
  const known = truth.read((sql) => findModel(sql, embedder));
  if (known !== null) return known;
  const { centre, background } = calibrate(await embedder.embed(unrelated, 'entry'));
  const bytes = new Uint8Array(centre.buffer);
  await truth.transaction(
    (sql) => sql.run`
      INSERT OR IGNORE INTO models (name, dimensions, centre, background)
      VALUES (${embedder.model}, ${embedder.dimensions}, ${bytes}, ${background})`,
  );
  const registered = truth.read((sql) => findModel(sql, embedder));
  if (registered === null)
    throw new GeodeError('internal', `The model ${embedder.model} was not registered.`);
  return registered;
}

export function findModel(
  sql: Sql,
  { model, dimensions }: Pick<Embedder, 'model' | 'dimensions'>,
): EmbeddingModel | null {
  const row = sql.get`SELECT * FROM models WHERE name = ${model}`;
  if (row === undefined) return null;
  const found = modelOf(row);
  if (found.dimensions !== dimensions) {
    throw new GeodeError(
      'model_changed',
      `The model ${model} used to return ${found.dimensions} numbers and now returns ${dimensions}.`,
      {
        hint: 'Give the changed model another name in `memory.embedder`; then everything is indexed again.',
      },
    );
  }
  return found;
}

export function modelById(sql: Sql, id: number): EmbeddingModel {
  const row = sql.get`SELECT * FROM models WHERE id = ${id}`;
  if (row === undefined) throw new GeodeError('internal', `The truth has no model ${id}.`);
  return modelOf(row);
}

function modelOf(row: Row): EmbeddingModel {
  return {
    id: numberOf(row, 'id'),
    dimensions: numberOf(row, 'dimensions'),
    centre: new Float32Array(new Uint8Array(bytesOf(row, 'centre')).buffer),
    background: numberOf(row, 'background'),
  };
}

function calibrate(vectors: readonly Float32Array[]): { centre: Float32Array; background: number } {
  const centre = new Float32Array(vectors[0]?.length ?? 0);
  for (const vector of vectors) {
    for (let i = 0; i < centre.length; i += 1)
      centre[i] = (centre[i] ?? 0) + (vector[i] ?? 0) / vectors.length;
  }
  let sum = 0;
  let pairs = 0;
  for (const [i, a] of vectors.entries()) {
    for (const b of vectors.slice(i + 1)) {
      sum += a.reduce((dot, value, at) => dot + value * (b[at] ?? 0), 0);
      pairs += 1;
    }
  }
  return { centre, background: Math.max(0, sum / pairs) };
}

const unrelated = [
  'The cat sleeps on the warm windowsill.',
  'SELECT name FROM users WHERE id = 7;',
  'Interest rates rose by a quarter point in June.',
  'How do I reset my password?',
  'Photosynthesis turns light into chemical energy.',
  'The train to Oslo leaves at 7:45.',
  'TypeError: undefined is not a function',
  'She prefers oat milk in her coffee.',
  'Install the package and run the tests.',
  'The treaty was signed in 1648.',
  'Add two cups of flour and stir.',
  'Our team won the final on penalties.',
  'Turn the heating down before you leave.',
  'A binary tree has at most two children per node.',
  'Her flight was delayed because of fog.',
  'Tax returns are due at the end of April.',
];
