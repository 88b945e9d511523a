import type { Denial } from './egress.ts';
import type { PullProgress } from './images.ts';
import type { ExitFacts } from './process.ts';
import type { Grade } from './sandbox.ts';

export const languageNames = ['python', 'javascript', 'typescript', 'shell', 'rust', 'go'] as const;
export type LanguageName = (typeof languageNames)[number];

/** Languages whose interpreter can be kept between runs. */
export const contextLanguages = ['python', 'javascript'] as const;
export type ContextLanguage = (typeof contextLanguages)[number];

export interface RunSandbox {
  readonly id: string;
  readonly runtime: string;
  readonly grade: Grade;
  /** It was ready before the run arrived. */
  readonly warm: boolean;
}

export interface RunImage {
  readonly name: string;
  /** The exact image that ran; a tag may change later. */
  readonly id: string;
  /** Its name in the registry; null for a local image. */
  readonly digest: string | null;
}

/** Time spent besides running the code. */
export interface RunTimings {
  readonly pullMs: number;
  readonly queueMs: number;
  /** Until a sandbox was available: taken from the pool, or created. */
  readonly sandboxMs: number;
  /** Writing the source and the files, and compiling. */
  readonly prepareMs: number;
  readonly totalMs: number;
}

export type PullEvent = { readonly type: 'pull-progress'; readonly image: string } & PullProgress;
/** Position in the queue; 1 is next. */
export type QueueEvent = { readonly type: 'queue-place'; readonly place: number };

/** The events of a run, in this order. Progress, queue positions and output may repeat. */
export type RunEvent =
  | PullEvent
  | QueueEvent
  | {
      readonly type: 'sandbox-ready';
      readonly language: LanguageName;
      readonly sandbox: RunSandbox;
      readonly image: RunImage | null;
    }
  | { readonly type: 'compile-start' }
  | { readonly type: 'compile-output'; readonly stream: 'stdout' | 'stderr'; readonly bytes: Uint8Array }
  | ({ readonly type: 'compile-exit' } & ExitFacts)
  | { readonly type: 'code-start' }
  | { readonly type: 'stdout'; readonly bytes: Uint8Array }
  | { readonly type: 'stderr'; readonly bytes: Uint8Array }
  | ({ readonly type: 'exit' } & ExitFacts)
  /** Refused network requests, sent after the exit. */
  | { readonly type: 'egress-denied'; readonly denied: readonly Denial[] }
  | { readonly type: 'artifact'; readonly path: string; readonly bytes: Uint8Array }
  /** Requested but not returned, with the reason. */
  | { readonly type: 'artifact-missed'; readonly path: string; readonly reason: string }
  | ({ readonly type: 'end' } & RunTimings);
