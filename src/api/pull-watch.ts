import { AsyncLocalStorage } from 'node:async_hooks';
import type { PullEvent } from '../seams/run.ts';

/** Who waits for what is done deep inside of what all requests share, so that they are told how far a pull is. */
export const pullWatch = new AsyncLocalStorage<(event: PullEvent) => void>();
