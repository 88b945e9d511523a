import type { ImageStore } from '../../seams/image-store.ts';

export interface OciOptions {
  /** `auto` uses the first installed of `runsc`, `runc` and `crun`; or a program by name or path. */
  readonly program: string;
  readonly defaultImage: string;
  readonly store: ImageStore;
  /** How long gVisor may take to start before it is started again. */
  readonly startDeadlineMs?: number;
}
