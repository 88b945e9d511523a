import type { Denial } from './egress.ts';
import type { PullProgress } from './images.ts';
import type { ExitFacts } from './process.ts';
import type { Grade } from './sandbox.ts';

export const languageNames = ['python', 'javascript', 'typescript', 'shell', 'rust', 'go'] as const;
export type LanguageName = (typeof languageNames)[number];

/** The languages whose interpreter can be kept between runs. */
export const contextLanguages = ['python', 'javascript'] as const;
export type ContextLanguage = (typeof contextLanguages)[number];

export interface RunSandbox {
  readonly id: string;
  readonly runtime: string;
  readonly grade: Grade;
  /** It was ready before the run came. */
  readonly warm: boolean;
}

export interface RunImage {
  readonly name: string;
  /** Exactly what ran, whatever the tag means tomorrow. */
  readonly id: string;
  /** Its name in the registry; null for an image that was made here. */
  readonly digest: string | null;
}

/** Where the time went, apart from the code's own. */
export interface RunTimings {
  readonly pullMs: number;
  readonly queueMs: number;
  /** Until a sandbox was there: a claim from the pool, or making one. */
  readonly sandboxMs: number;
  /** Bringing in the source and the files, and compiling. */
  readonly prepareMs: number;
  readonly totalMs: number;
}

export type PullEvent = { readonly type: 'pull-progress'; readonly image: string } & PullProgress;
/** Place 1 is next. */
export type QueueEvent = { readonly type: 'queue-place'; readonly place: number };

/** The events of a run, in this order. Progress, places and output may repeat. */
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
  /** Network requests that the code was refused, sent after its exit. */
  | { readonly type: 'egress-denied'; readonly denied: readonly Denial[] }
  | { readonly type: 'artifact'; readonly path: string; readonly bytes: Uint8Array }
  /** Asked for and not brought back, with the reason. */
  | { readonly type: 'artifact-missed'; readonly path: string; readonly reason: string }
  | ({ readonly type: 'end' } & RunTimings);
