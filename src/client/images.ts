/** Geode's own images, built by the host's engine, and the images that the host stores without an engine. */

import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { Contract } from '../contract/contract.ts';
import type { BuildEvent, BuildRequest, BuiltImage, BuiltImageName, ImageFacts } from '../seams/images.ts';
import type { PullEvent } from '../seams/run.ts';
import type { RuntimeName } from '../seams/runtime.ts';
import { type Calls, callsOf } from './calls.ts';
import type { ApiConnection } from './send.ts';

export interface RemoteImages {
  /** Needs the scope `admin`. A cancel ends the build. */
  build(
    name: BuiltImageName,
    options?: Omit<BuildRequest, 'name'> & { readonly onProgress?: (event: BuildEvent) => void },
  ): Promise<BuiltImage>;
  list(options?: Cancel): Promise<readonly BuiltImage[]>;
  /** Needs the scope `admin`. Returns false if it was not built here. */
  remove(name: BuiltImageName, options?: Cancel): Promise<boolean>;
  /** Pulls an image to the host if it is missing, with the given or configured runtime. */
  pull(
    name: string,
    options?: { readonly runtime?: RuntimeName; readonly onPull?: (event: PullEvent) => void } & Cancel,
  ): Promise<ImageFacts>;
  /** The images that Geode stores itself. Changing or exporting them needs the scope `admin`. */
  readonly store: Calls<Contract['imageStore']>;
}

export function remoteImages(connection: ApiConnection): RemoteImages {
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
    async pull(image, { runtime, onPull = () => {}, signal } = {}) {
      const asked = { image, ...(runtime !== undefined && { runtime }) };
      for await (const event of calls.pull(asked, { signal })) {
        if (event.type !== 'image-ready') onPull(event);
        else {
          const { type: _, ...facts } = event;
          return facts;
        }
      }
      throw new GeodeError('pull_failed', `The pull of ${image} ended without the image`);
    },
    store: callsOf(connection, 'imageStore'),
  };
}
