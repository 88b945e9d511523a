import type { Cancel } from '../core/cancel.ts';
import { isGeodeError } from '../core/errors.ts';
import type { Runtime } from '../core/runtime.ts';
import type { Sandbox, SandboxSpec } from '../core/sandbox.ts';
import type { PullEvent } from './events.ts';
import type { RunImages } from './images.ts';

export interface PullOptions extends Cancel {
  readonly images: RunImages;
  /** What the runtime takes when the spec names none. */
  readonly defaultImage: string;
  readonly onPull: (event: PullEvent) => void;
}

/** Opens a sandbox; when its image is not on the engine, it is fetched first. */
export async function openPulled(
  runtime: Runtime,
  spec: SandboxSpec,
  { images, defaultImage, onPull, signal }: PullOptions,
): Promise<Sandbox> {
  try {
    return await runtime.open(spec, { signal });
  } catch (error) {
    if (!isGeodeError(error, 'image_missing') || runtime.images === undefined) throw error;
  }
  const pull = images.resolve(runtime.images, spec.image ?? defaultImage, { signal });
  for await (const event of pull) onPull(event);
  return runtime.open(spec, { signal });
}
