import { setTimeout as delay } from 'node:timers/promises';
import type { QdrantClient } from '@qdrant/js-client-rest';

/** Building graphs begins a moment after the last point; so long must the server have nothing to do. */
const QUIET_MS = 3_000;

/** Waits until the server has built what it builds in the background, with all cores. */
export async function quietQdrant(client: QdrantClient): Promise<void> {
  for (let since = Date.now(); Date.now() - since < QUIET_MS; await delay(500)) {
    const { collections } = await client.getCollections();
    const states = await Promise.all(collections.map(({ name }) => client.getCollection(name)));
    if (states.some(({ status }) => status !== 'green')) since = Date.now();
  }
}
