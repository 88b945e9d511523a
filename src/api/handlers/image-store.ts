/** Images that Geode stores itself. */
import { Readable } from 'node:stream';
import type { imageStore } from '../../contract/image-store.ts';
import type { ImageStore } from '../../seams/image-store.ts';
import type { Handlers } from '../serve.ts';

export function imageStoreHandlers(store: ImageStore): Handlers<typeof imageStore> {
  return {
    list: () => store.list(),
    remove: ({ name }) => store.remove(name),
    prune: ({ all = false }, { signal }) => store.prune({ all, signal }),
    load: ({ name }, { body, signal }) =>
      store.load(Readable.from(body()), { ...(name !== undefined && { name }), signal }),
    async save({ name }, { signal }) {
      const archive = await store.save(name, { signal });
      return { read: () => archive };
    },
  };
}
