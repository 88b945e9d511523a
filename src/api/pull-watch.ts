import { AsyncLocalStorage } from 'node:async_hooks';
import type { PullEvent } from '../seams/run.ts';

/** The listener of the current request for pull progress. Pulls happen in shared code that does not know the request. */
export const pullWatch = new AsyncLocalStorage<(event: PullEvent) => void>();
