/** Geode's own images, built by the engine of a host. */
import type { WireBuildEvent, WireBuiltImage } from '../contract/images.ts';
import { fromWire } from '../contract/old-names.ts';
import type { Cancel } from '../core/cancel.ts';
import { GeodeError } from '../core/errors.ts';
import type { BuildEvent, BuildRequest, BuiltImage, BuiltImageName } from '../core/images.ts';
import { streamEvents } from './events.ts';
import { ask, type Connection } from './send.ts';

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
  const base = '/api/v1/images';
  return {
    async build(name, { signal, onProgress = () => {}, ...asked } = {}) {
      type Step = Exclude<WireBuildEvent, { type: 'problem' }>;
      const sending = { json: { image: name, ...asked }, signal };
      for await (const event of streamEvents<Step>(connection, 'POST', `${base}/build`, sending)) {
        if (event.type !== 'image-built') onProgress(fromWire(event));
        else {
          const { type: _, ...built } = event;
          return fromWire(built);
        }
      }
      throw new GeodeError('build_failed', `The build of ${name} ended without the image`);
    },
    async list({ signal } = {}) {
      const { images } = await ask<{ images: WireBuiltImage[] }>(connection, 'GET', base, { signal });
      return images.map((each) => fromWire(each));
    },
    async remove(name, { signal } = {}) {
      return (await ask<{ removed: boolean }>(connection, 'DELETE', `${base}/${name}`, { signal })).removed;
    },
  };
}
