/** Runs of code, and interpreters that keep their variables, over HTTP. */

import type { Cancel } from '../base/cancel.ts';
import type {
  WireCells,
  WireContext,
  WireContextEvent,
  WireContextResult,
  WireRich,
} from '../contract/contexts.ts';
import { bytesOf, wireBytes } from '../contract/encoding.ts';
import { fromWire, type Own, toWire } from '../contract/old-names.ts';
import type { WireRunEvent, WireRunRecord, WireRunResult, WireRunSummary } from '../contract/runs.ts';
import type { ContextCell } from '../runs/contexts/cells.ts';
import type { ContextError, ContextEvent, ContextResult } from '../runs/contexts/result.ts';
import type { Rich } from '../runs/contexts/rich.ts';
import type { RunRecord, RunSummary } from '../runs/history/run-record.ts';
import type { RunOptions } from '../runs/options.ts';
import type { EgressSpec } from '../seams/egress.ts';
import type { Limits } from '../seams/limits.ts';
import type { RunEvent } from '../seams/run.ts';
import type { Artifact, RunResult } from '../seams/run-result.ts';
import type { RuntimeName } from '../seams/runtime.ts';
import type { Grade } from '../seams/sandbox.ts';
import { type EgressRequest, wireEgress } from './egress.ts';
import { streamEvents } from './events.ts';
import { execFresh, type FreshSandbox, type LiveRunOptions, runLive } from './run-socket.ts';
import type { RemoteCommand } from './sandbox.ts';
import { ask, type Connection, send } from './send.ts';
import type { Opening, SocketProcess } from './socket-process.ts';

export interface RemoteRunOptions extends Omit<RunOptions, 'stdin' | 'user' | 'egress'> {
  readonly stdin?: string | Uint8Array;
  /** The network policy; left out: the host's default. */
  readonly egress?: EgressSpec | EgressRequest;
}

/** As the library's, but for the bytes of the compiler's output. */
export interface RemoteRunResult extends Omit<RunResult, 'compile' | 'language'> {
  readonly language: string;
  readonly compile: Omit<NonNullable<RunResult['compile']>, 'bytes'> | null;
}

export type RemoteRunEvent =
  | Exclude<RunEvent, { type: 'sandbox-ready' }>
  | (Omit<Extract<RunEvent, { type: 'sandbox-ready' }>, 'language'> & { readonly language: string });

export interface RemoteRuns {
  /** Everything that happens, as it happens. Leaving the loop ends the run. */
  stream(code: string, language: string, options?: RemoteRunOptions): AsyncGenerator<RemoteRunEvent>;
  /** The same over one connection, with a stdin that is read as the code reads it. */
  live(code: string | Uint8Array, language: string, options?: LiveRunOptions): AsyncGenerator<RemoteRunEvent>;
  /** A command in a fresh sandbox, which ends with it and with the connection. */
  exec(command: RemoteCommand, sandbox?: FreshSandbox, options?: Opening): Promise<SocketProcess>;
  run(
    code: string,
    language: string,
    options?: RemoteRunOptions & { readonly outputLimitBytes?: number },
  ): Promise<RemoteRunResult>;
  /** Finished runs, newest first; `before` a time pages to older ones. */
  list(
    options?: { readonly limit?: number; readonly before?: number } & Cancel,
  ): Promise<readonly RunSummary[]>;
  get(id: string, options?: Cancel): Promise<RunRecord>;
}

export function remoteRuns(connection: Connection): RemoteRuns {
  const path = '/api/v1/runs';
  return {
    async *stream(code, language, { signal, ...options } = {}) {
      const json = wireRun(code, language, options);
      type Step = Exclude<WireRunEvent, { type: 'problem' }>;
      for await (const event of streamEvents<Step>(connection, 'POST', path, { json, signal })) {
        yield runEvent(event);
      }
    },
    live: (code, language, options = {}) => runLive(connection, code, language, options),
    exec: (command, sandbox = {}, opening = {}) => execFresh(connection, command, sandbox, opening),
    async run(code, language, { signal, ...options } = {}) {
      const json = wireRun(code, language, options);
      return runResult(await ask<WireRunResult>(connection, 'POST', path, { json, signal }));
    },
    async list({ signal, ...query } = {}) {
      type Answer = { runs: WireRunSummary[] };
      const { runs } = await ask<Answer>(connection, 'GET', path, { query, signal });
      return runs.map((each) => fromWire(each));
    },
    async get(id, { signal } = {}) {
      const one = `${path}/${encodeURIComponent(id)}`;
      return fromWire(await ask<WireRunRecord>(connection, 'GET', one, { signal }));
    },
  };
}

function wireRun(
  code: string,
  language: string,
  { stdin, files, egress, ...options }: Omit<RemoteRunOptions, 'signal'>,
) {
  const bytes = (content: string | Uint8Array) =>
    typeof content === 'string' ? { text: content } : wireBytes(content);
  return {
    code,
    language,
    ...toWire(options),
    ...(egress && { egress: wireEgress(egress) }),
    ...(stdin !== undefined && { stdin: bytes(stdin) }),
    ...(files !== undefined && {
      files: Object.fromEntries(Object.entries(files).map(([path, content]) => [path, bytes(content)])),
    }),
  };
}

function runEvent(event: Exclude<WireRunEvent, { type: 'problem' }>): RemoteRunEvent {
  switch (event.type) {
    case 'stdout':
    case 'stderr':
      return { type: event.type, bytes: bytesOf(event) };
    case 'compile-output':
      return { type: event.type, stream: event.stream, bytes: bytesOf(event) };
    case 'artifact':
      return { type: event.type, path: event.path, bytes: bytesOf(event) };
    default:
      return fromWire(event);
  }
}

function runResult({ artifacts, stdout_base64, stderr_base64, ...wire }: WireRunResult): RemoteRunResult {
  const result = fromWire(wire);
  const bytes = (text: string, base64: string | undefined) =>
    bytesOf(base64 === undefined ? { text } : { base64 });
  const brought: Artifact[] = artifacts.map(({ path, ...content }) => ({ path, bytes: bytesOf(content) }));
  return {
    ...result,
    artifacts: brought,
    bytes: { stdout: bytes(result.stdout, stdout_base64), stderr: bytes(result.stderr, stderr_base64) },
  };
}

export interface ContextSpec {
  /** In the sandbox of this chat; else in a fresh one that ends with the context. */
  readonly chat?: string;
  readonly runtime?: RuntimeName;
  readonly image?: string;
  readonly limits?: Limits;
  readonly minimumGrade?: Grade;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly outputLimitBytes?: number;
  readonly graceMs?: number;
}

export interface RemoteContext extends Own<WireContext>, AsyncDisposable {
  run(
    code: string,
    options?: {
      readonly timeoutMs?: number | null;
      readonly onEvent?: (event: ContextEvent) => void;
    } & Cancel,
  ): Promise<ContextResult>;
  /** The runs since it was opened, oldest first, of all callers. */
  cells(options?: Cancel): Promise<readonly ContextCell[]>;
  interrupt(options?: Cancel): Promise<'idle' | 'stopped' | 'ignored'>;
  restart(options?: Cancel): Promise<void>;
  check(code: string, options?: Cancel): Promise<'complete' | 'incomplete' | 'invalid'>;
  close(options?: Cancel): Promise<void>;
}

export interface RemoteContexts {
  open(language: 'python' | 'javascript', spec?: ContextSpec & Cancel): Promise<RemoteContext>;
  list(options?: Cancel): Promise<readonly RemoteContext[]>;
}

export function remoteContexts(connection: Connection): RemoteContexts {
  const base = '/api/v1/contexts';
  return {
    async open(language, { signal, ...spec } = {}) {
      const json = { language, ...toWire(spec) };
      return remoteContext(connection, await ask<WireContext>(connection, 'POST', base, { json, signal }));
    },
    async list({ signal } = {}) {
      const { contexts } = await ask<{ contexts: WireContext[] }>(connection, 'GET', base, { signal });
      return contexts.map((each) => remoteContext(connection, each));
    },
  };
}

function remoteContext(connection: Connection, wire: WireContext): RemoteContext {
  const path = `/api/v1/contexts/${wire.id}`;
  const close = async ({ signal }: Cancel = {}) => {
    await send(connection, 'DELETE', path, { signal, accepted: [404] });
  };
  return {
    ...fromWire(wire),
    async run(code, { timeoutMs, onEvent, signal } = {}) {
      const json = { code, timeout_ms: timeoutMs };
      if (onEvent === undefined)
        return contextResult(
          await ask<WireContextResult>(connection, 'POST', `${path}/runs`, { json, signal }),
        );
      type Step = Exclude<WireContextEvent, { type: 'problem' }>;
      let end: ContextResult | undefined;
      for await (const event of streamEvents<Step>(connection, 'POST', `${path}/runs`, { json, signal })) {
        if (event.type !== 'end') onEvent(contextEvent(event));
        else {
          const { type: _, ...result } = event;
          end = contextResult(result);
        }
      }
      if (end !== undefined) return end;
      throw new Error('The stream ended before the run did');
    },
    async cells({ signal } = {}) {
      const { cells } = await ask<WireCells>(connection, 'GET', `${path}/cells`, { signal });
      return cells.map(({ duration_ms: durationMs, pieces, ...cell }) => ({
        ...cell,
        durationMs,
        pieces: pieces.map(contextEvent),
      }));
    },
    async interrupt({ signal } = {}) {
      type Outcome = { outcome: 'idle' | 'stopped' | 'ignored' };
      return (await ask<Outcome>(connection, 'POST', `${path}/interrupt`, { signal })).outcome;
    },
    async restart({ signal } = {}) {
      await send(connection, 'POST', `${path}/restart`, { signal });
    },
    async check(code, { signal } = {}) {
      type Checked = { state: 'complete' | 'incomplete' | 'invalid' };
      return (await ask<Checked>(connection, 'POST', `${path}/check`, { json: { code }, signal })).state;
    },
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

type StreamedItem =
  | { readonly type: 'stdout' | 'stderr'; readonly text: string }
  | { readonly type: 'result'; readonly result: WireRich }
  | { readonly type: 'error'; readonly error: ContextError };

function contextEvent(event: StreamedItem): ContextEvent {
  return event.type === 'result' ? { type: 'result', result: richOf(event.result) } : event;
}

function contextResult({ results, value, ...wire }: WireContextResult): ContextResult {
  return { ...fromWire(wire), results: results.map(richOf), value: value && richOf(value) };
}

function richOf({ png, jpeg, ...rich }: WireRich): Rich {
  return {
    ...fromWire(rich),
    ...(png !== undefined && { png: bytesOf({ base64: png }) }),
    ...(jpeg !== undefined && { jpeg: bytesOf({ base64: jpeg }) }),
  };
}

export type { ContextEvent, ContextResult, Rich };
