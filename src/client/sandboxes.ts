/** The sandboxes of the calling user. */

import type { Cancel } from '../base/cancel.ts';
import type { checkpoints } from '../contract/checkpoints.ts';
import type { sandboxes } from '../contract/sandboxes.ts';
import type { EgressSpec } from '../seams/egress.ts';
import type { ForkOptions, PersistentSpec, SandboxStatus } from '../seams/persistent.ts';
import type { PullEvent } from '../seams/run.ts';
import { type Calls, callsOf } from './calls.ts';
import { type EgressRequest, egressBody } from './egress.ts';
import { type RemoteSandbox, remoteSandbox } from './sandbox.ts';
import type { ApiConnection } from './send.ts';

export interface RemoteSandboxSpec extends Omit<PersistentSpec, 'egress'> {
  readonly egress?: EgressSpec | EgressRequest;
}

type Shortened = 'create' | 'createEvents' | 'extend' | 'thinking' | 'label' | 'rename' | 'fork';
type OfOne = 'usage' | 'preview';

/** The declared calls; calls with a single argument take it directly. */
export interface RemoteSandboxes extends Omit<Calls<typeof sandboxes>, Shortened | OfOne> {
  /** The sandbox of a chat. Sends no request: the first call shows whether it exists. */
  of(chat: string): RemoteSandbox;
  /** Created or started if needed. With `onPull`, a missing image is pulled first and the progress is reported. */
  getOrCreate(
    chat: string,
    spec?: RemoteSandboxSpec,
    options?: { readonly onPull?: (event: PullEvent) => void } & Cancel,
  ): Promise<SandboxStatus>;
  fork(chat: string, to: string, options?: ForkOptions & Cancel): Promise<SandboxStatus>;
  readonly checkpoints: Calls<typeof checkpoints>;
  extend(chat: string, ms: number, options?: Cancel): Promise<SandboxStatus>;
  thinkingUntil(chat: string, time: number, options?: Cancel): Promise<SandboxStatus>;
  label(chat: string, labels: Readonly<Record<string, string>>, options?: Cancel): Promise<SandboxStatus>;
  rename(chat: string, to: string, options?: Cancel): Promise<SandboxStatus>;
}

export function remoteSandboxes(connection: ApiConnection): RemoteSandboxes {
  const { create, createEvents, extend, thinking, label, rename, fork, usage, preview, ...calls } = callsOf(
    connection,
    'sandboxes',
  );
  return {
    ...calls,
    of: (chat) => remoteSandbox(connection, chat),
    async getOrCreate(chat, { egress, ...spec } = {}, { onPull, signal } = {}) {
      const asked = { chat, ...spec, ...(egress && { egress: egressBody(egress) }) };
      if (onPull === undefined) return create(asked, { signal });
      for await (const event of createEvents(asked, { signal })) {
        if (event.type === 'pull-progress') onPull(event);
        else {
          const { type: _, ...status } = event;
          return status;
        }
      }
      throw new Error('The stream ended before the sandbox was ready');
    },
    fork: (chat, to, { signal, ...options } = {}) => fork(chat, { to, ...options }, { signal }),
    checkpoints: callsOf(connection, 'checkpoints'),
    extend: (chat, ms, cancel) => extend(chat, { ms }, cancel),
    thinkingUntil: (chat, until, cancel) => thinking(chat, { until }, cancel),
    label: (chat, labels, cancel) => label(chat, { labels }, cancel),
    rename: (chat, to, cancel) => rename(chat, { to }, cancel),
  };
}
