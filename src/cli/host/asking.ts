import { AsyncLocalStorage } from 'node:async_hooks';
import type { PullDisplay } from '../show-pull.ts';

export interface Asking {
  readonly warn: (message: string) => void;
  pull?: PullDisplay;
  isOver: boolean;
}

/** The command for which something is done deep inside of what all commands share, so that its user is told of it. */
export const asking = new AsyncLocalStorage<Asking>();
