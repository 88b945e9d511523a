/** The sandboxes of the user who asks. */
import { fromWire, toWire, type Wire } from '../contract/old-names.ts';
import type { CreateEvent } from '../contract/sandboxes.ts';
import type { Cancel } from '../core/cancel.ts';
import type { EgressSpec } from '../core/egress.ts';
import type { PersistentSpec, SandboxStatus } from '../core/persistent.ts';
import type { PullEvent } from '../core/run.ts';
import { type EgressRequest, wireEgress } from './egress.ts';
import { streamEvents } from './events.ts';
import { type RemoteSandbox, remoteSandbox, sandboxPath } from './sandbox.ts';
import { ask, type Connection } from './send.ts';

export interface RemoteSandboxSpec extends Omit<PersistentSpec, 'egress'> {
  readonly egress?: EgressSpec | EgressRequest;
}

export interface RemoteSandboxes {
  /** The sandbox of a chat. Nothing is asked: whether it is there shows with the first call. */
  of(chat: string): RemoteSandbox;
  /** Made or started if need be. With `onPull`, a missing image is fetched first and told of. */
  getOrCreate(
    chat: string,
    spec?: RemoteSandboxSpec,
    options?: { readonly onPull?: (event: PullEvent) => void } & Cancel,
  ): Promise<SandboxStatus>;
  /** `all`: of every user, only for whoever runs the host, on its own socket. */
  list(options?: { readonly users?: 'all' } & Cancel): Promise<readonly SandboxStatus[]>;
  inspect(chat: string, options?: Cancel): Promise<SandboxStatus>;
  start(chat: string, options?: Cancel): Promise<SandboxStatus>;
  stop(chat: string, options?: Cancel): Promise<SandboxStatus>;
  pause(chat: string, options?: Cancel): Promise<SandboxStatus>;
  resume(chat: string, options?: Cancel): Promise<SandboxStatus>;
  /** For good. False when there was none. */
  remove(chat: string, options?: Cancel): Promise<boolean>;
  fork(chat: string, to: string, options?: { readonly snapshot?: string } & Cancel): Promise<SandboxStatus>;
  extend(chat: string, ms: number, options?: Cancel): Promise<SandboxStatus>;
  thinkingUntil(chat: string, time: number, options?: Cancel): Promise<SandboxStatus>;
  label(chat: string, labels: Readonly<Record<string, string>>, options?: Cancel): Promise<SandboxStatus>;
  rename(chat: string, to: string, options?: Cancel): Promise<SandboxStatus>;
}

const base = '/api/v1/sandboxes';

export function remoteSandboxes(connection: Connection): RemoteSandboxes {
  const status = async (method: string, path: string, json: unknown, { signal }: Cancel = {}) => {
    const answer = await ask<Wire<SandboxStatus>>(connection, method, path, {
      ...(json !== undefined && { json }),
      signal,
    });
    return fromWire(answer);
  };
  const post = (chat: string, verb: string, json: unknown, cancel?: Cancel) =>
    status('POST', `${sandboxPath(chat)}/${verb}`, json, cancel);
  return {
    of: (chat) => remoteSandbox(connection, chat),
    getOrCreate(chat, { egress, ...spec } = {}, { onPull, ...cancel } = {}) {
      const json = { chat, ...toWire(spec), ...(egress && { egress: wireEgress(egress) }) };
      return onPull === undefined
        ? status('POST', base, json, cancel)
        : created(connection, json, onPull, cancel);
    },
    async list({ users, signal } = {}) {
      const { sandboxes } = await ask<{ sandboxes: Wire<SandboxStatus>[] }>(connection, 'GET', base, {
        query: { users },
        signal,
      });
      return sandboxes.map((each) => fromWire(each));
    },
    inspect: (chat, cancel) => status('GET', sandboxPath(chat), undefined, cancel),
    start: (chat, cancel) => post(chat, 'start', undefined, cancel),
    stop: (chat, cancel) => post(chat, 'stop', undefined, cancel),
    pause: (chat, cancel) => post(chat, 'pause', undefined, cancel),
    resume: (chat, cancel) => post(chat, 'resume', undefined, cancel),
    async remove(chat, { signal } = {}) {
      const path = sandboxPath(chat);
      return (await ask<{ removed: boolean }>(connection, 'DELETE', path, { signal })).removed;
    },
    fork: (chat, to, { snapshot, ...cancel } = {}) => post(chat, 'fork', { to, snapshot }, cancel),
    extend: (chat, ms, cancel) => post(chat, 'extend', { ms }, cancel),
    thinkingUntil: (chat, until, cancel) => post(chat, 'thinking', { until }, cancel),
    label: (chat, labels, cancel) => post(chat, 'labels', { labels }, cancel),
    rename: (chat, to, cancel) => post(chat, 'rename', { to }, cancel),
  };
}

async function created(
  connection: Connection,
  json: object,
  onPull: (event: PullEvent) => void,
  { signal }: Cancel,
): Promise<SandboxStatus> {
  type Step = Exclude<CreateEvent, { type: 'problem' }>;
  let made: SandboxStatus | undefined;
  for await (const event of streamEvents<Step>(connection, 'POST', base, { json, signal })) {
    if (event.type === 'pull-progress') onPull(fromWire(event));
    else {
      const { type: _, ...wire } = event;
      made = fromWire(wire);
    }
  }
  if (made !== undefined) return made;
  throw new Error('The stream ended before the sandbox was there');
}
