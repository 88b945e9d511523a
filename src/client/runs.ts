/** Runs of code, over HTTP. */

import type { Cancel } from '../base/cancel.ts';
import { bytesOf } from '../contract/encoding.ts';
import type { RunRecord, RunSummary } from '../runs/history/run-record.ts';
import type { RunOptions } from '../runs/options.ts';
import type { EgressSpec } from '../seams/egress.ts';
import type { RunEvent } from '../seams/run.ts';
import type { RunResult } from '../seams/run-result.ts';
import { callsOf } from './calls.ts';
import { type EgressRequest, egressBody } from './egress.ts';
import {
  execFresh,
  type FreshSandbox,
  filesBody,
  type LiveRunOptions,
  runEvent,
  runLive,
} from './run-socket.ts';
import { contentBody, type RemoteCommand, withBytes } from './sandbox.ts';
import type { ApiConnection } from './send.ts';
import type { Opening, SocketProcess } from './socket-process.ts';

export interface RemoteRunOptions extends Omit<RunOptions, 'stdin' | 'user' | 'egress'> {
  readonly stdin?: string | Uint8Array;
  /** The network policy; default: the host's. */
  readonly egress?: EgressSpec | EgressRequest;
  /** No proxy either, so refused requests are not recorded. */
  readonly network?: 'none';
}

/** Like the library's, without the bytes of the compiler's output. */
export interface RemoteRunResult extends Omit<RunResult, 'compile' | 'language'> {
  readonly language: string;
  readonly compile: Omit<NonNullable<RunResult['compile']>, 'bytes'> | null;
}

export type RemoteRunEvent =
  | Exclude<RunEvent, { type: 'sandbox-ready' }>
  | (Omit<Extract<RunEvent, { type: 'sandbox-ready' }>, 'language'> & { readonly language: string });

export interface RemoteRuns {
  /** All events as they happen. Leaving the loop ends the run. */
  stream(code: string, language: string, options?: RemoteRunOptions): AsyncGenerator<RemoteRunEvent>;
  /** Runs code over one connection, with a stdin that is read at the speed of the code. */
  live(code: string | Uint8Array, language: string, options?: LiveRunOptions): AsyncGenerator<RemoteRunEvent>;
  /** A command in a fresh sandbox, which ends with the command or the connection. */
  exec(command: RemoteCommand, sandbox?: FreshSandbox, options?: Opening): Promise<SocketProcess>;
  run(
    code: string,
    language: string,
    options?: RemoteRunOptions & { readonly outputLimitBytes?: number },
  ): Promise<RemoteRunResult>;
  /** Finished runs, newest first; `before` pages to older ones. */
  list(
    options?: { readonly limit?: number; readonly before?: number } & Cancel,
  ): Promise<readonly RunSummary[]>;
  get(id: string, options?: Cancel): Promise<RunRecord>;
}

export function remoteRuns(connection: ApiConnection): RemoteRuns {
  const { run, runEvents, list, get } = callsOf(connection, 'runs');
  return {
    async *stream(code, language, { signal, ...options } = {}) {
      for await (const event of runEvents(runBody(code, language, options), { signal }))
        yield runEvent(event);
    },
    live: (code, language, options = {}) => runLive(connection, code, language, options),
    exec: (command, sandbox = {}, opening = {}) => execFresh(connection, command, sandbox, opening),
    async run(code, language, { signal, ...options } = {}) {
      const { artifacts, ...result } = await run(runBody(code, language, options), { signal });
      return {
        ...withBytes(result),
        artifacts: artifacts.map(({ path, ...content }) => ({ path, bytes: bytesOf(content) })),
      };
    },
    list,
    get,
  };
}

function runBody(
  code: string,
  language: string,
  { stdin, files, egress, ...options }: Omit<RemoteRunOptions, 'signal'>,
) {
  return {
    code,
    language,
    ...options,
    ...(egress && { egress: egressBody(egress) }),
    ...(stdin !== undefined && { stdin: contentBody(stdin) }),
    ...(files && { files: filesBody(files) }),
  };
}
