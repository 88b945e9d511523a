import type { images } from '../../contract/images.ts';
import type { BuiltImages } from '../../seams/images.ts';
import type { ApiParts } from '../environment.ts';
import type { Handlers } from '../serve.ts';

type FindImage = NonNullable<ApiParts['image']>;

export function imageHandlers(
  built: BuiltImages | undefined,
  find: FindImage | undefined,
): Handlers<typeof images> {
  return {
    pull:
      find &&
      (({ image, runtime }, { signal }) =>
        pulled(find(image, { ...(runtime !== undefined && { runtime }), signal }))),
    list: built && ((_, { signal }) => built.list({ signal })),
    build:
      built &&
      (({ image: name, ...asked }, { caller, signal }) =>
        made(built.build(caller.user, { name, ...asked, signal }))),
    remove: built && (({ image }, { caller, signal }) => built.remove(caller.user, image, { signal })),
  };
}

async function* pulled(found: ReturnType<FindImage>) {
  const image = yield* found;
  yield { type: 'image-ready' as const, ...image };
}

async function* made(building: ReturnType<BuiltImages['build']>) {
  const image = yield* building;
  yield { type: 'image-built' as const, ...image };
}
