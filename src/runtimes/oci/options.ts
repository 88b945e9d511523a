import type { ImageStore } from '../../seams/image-store.ts';

export interface OciOptions {
  /** `auto` takes the first of `runsc`, `runc` and `crun` that is installed; or a program by name or path. */
  readonly program: string;
  readonly defaultImage: string;
  readonly store: ImageStore;
}
