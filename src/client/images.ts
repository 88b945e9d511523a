/** Geode's own images, built by the engine of a host. */
import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { BuildEvent, BuildRequest, BuiltImage, BuiltImageName } from '../seams/images.ts';
import { callsOf } from './calls.ts';
import type { Connection } from './send.ts';

export interface RemoteImages {
  /** Needs the scope `admin`. A cancel ends the build. */
  build(
    name: BuiltImageName,
    options?: Omit<BuildRequest, 'name'> & { readonly onProgress?: (event: BuildEvent) => void },
  ): Promise<BuiltImage>;
  list(options?: Cancel): Promise<readonly BuiltImage[]>;
  /** Needs the scope `admin`. False when it was not built here. */
  remove(name: BuiltImageName, options?: Cancel): Promise<boolean>;
}

export function remoteImages(connection: Connection): RemoteImages {
  const calls = callsOf(connection, 'images');
  return {
    async build(name, { signal, onProgress = () => {}, ...asked } = {}) {
      for await (const event of calls.build({ image: name, ...asked }, { signal })) {
        if (event.type !== 'image-built') onProgress(event);
        else {
          const { type: _, ...built } = event;
          return built;
        }
      }
      throw new GeodeError('build_failed', `The build of ${name} ended without the image`);
    },
    list: calls.list,
    remove: calls.remove,
  };
}
