/** Creates a missing collection, and refuses one made for other vectors. */
import type { QdrantClient } from '@qdrant/js-client-rest';
import { GeodeError, reasonOf } from '../../../base/errors.ts';
import type { EmbeddingModel } from '../../truth/models.ts';

/** True if the collection was just created and is therefore empty. */
export async function ensureCollection(
  client: QdrantClient,
  name: string,
  model: EmbeddingModel,
  replicas: number,
): Promise<boolean> {
  const { exists } = await client.collectionExists(name);
  if (exists) {
    await checkCollection(client, name, model);
    return false;
  }
  try {
    await client.createCollection(name, {
      vectors: { meaning: { size: model.dimensions, distance: 'Cosine' } },
      sparse_vectors: { words: { modifier: 'idf' } },
      replication_factor: replicas,
    });
  } catch (thrown) {
    // Another process may have been first.
    if (!/already exists/i.test(reasonOf(thrown))) throw thrown;
    return false;
  }
  const keyword = (field: string) =>
    client.createPayloadIndex(name, { field_name: field, field_schema: 'keyword', wait: true });
  await client.createPayloadIndex(name, {
    field_name: 'namespace',
    field_schema: { type: 'keyword', is_tenant: true },
    wait: true,
  });
  await Promise.all([keyword('labels'), ...['entry', 'chunk'].map((field) => integer(client, name, field))]);
  await integer(client, name, 'validUntil');
  return true;
}

function integer(client: QdrantClient, name: string, field: string) {
  return client.createPayloadIndex(name, { field_name: field, field_schema: 'integer', wait: true });
}

async function checkCollection(client: QdrantClient, name: string, model: EmbeddingModel): Promise<void> {
  const { config } = await client.getCollection(name);
  const meaning: unknown = Object(config.params.vectors).meaning;
  const { size, distance }: { size?: unknown; distance?: unknown } = Object(meaning);
  if (size === model.dimensions && distance === 'Cosine') return;
  throw new GeodeError(
    'model_changed',
    `The Qdrant collection ${name} has vectors of ${String(size)} dimensions with ${String(distance)}, not ${model.dimensions} with Cosine.`,
    { hint: `Delete the collection ${name} in Qdrant; Geode fills it again from the memory file.` },
  );
}
