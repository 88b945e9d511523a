/** Interpreters that keep their variables, over HTTP. */

import type { Cancel } from '../base/cancel.ts';
import { isGeodeError } from '../base/errors.ts';
import type { contexts } from '../contract/contexts.ts';
import { bytesOf } from '../contract/encoding.ts';
import type { ResultOf } from '../contract/types.ts';
import type { ContextCell } from '../runs/contexts/cells.ts';
import type { ContextEvent, ContextResult } from '../runs/contexts/result.ts';
import type { Rich } from '../runs/contexts/rich.ts';
import type { Limits } from '../seams/limits.ts';
import type { RuntimeName } from '../seams/runtime.ts';
import type { Grade } from '../seams/sandbox.ts';
import { type Calls, callsOf } from './calls.ts';
import type { ApiConnection } from './send.ts';

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

type Opened = ResultOf<typeof contexts.open>;

export interface RemoteContext extends Opened, AsyncDisposable {
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

export function remoteContexts(connection: ApiConnection): RemoteContexts {
  const calls = callsOf(connection, 'contexts');
  return {
    async open(language, { signal, ...spec } = {}) {
      return remoteContext(calls, await calls.open({ language, ...spec }, { signal }));
    },
    list: async (cancel) => (await calls.list(cancel)).map((each) => remoteContext(calls, each)),
  };
}

function remoteContext(calls: Calls<typeof contexts>, opened: Opened): RemoteContext {
  const { id } = opened;
  const close = async (cancel?: Cancel) => {
    await calls.close(id, cancel).catch((error) => {
      if (!isGeodeError(error, 'context_not_found')) throw error;
    });
  };
  return {
    ...opened,
    async run(code, { timeoutMs, onEvent, signal } = {}) {
      const asked = { code, timeoutMs };
      if (onEvent === undefined) return contextResult(await calls.run(id, asked, { signal }));
      let end: ContextResult | undefined;
      for await (const event of calls.runEvents(id, asked, { signal })) {
        if (event.type !== 'end') onEvent(contextEvent(event));
        else {
          const { type: _, ...result } = event;
          end = contextResult(result);
        }
      }
      if (end !== undefined) return end;
      throw new Error('The stream ended before the run did');
    },
    async cells(cancel) {
      const cells = await calls.cells(id, cancel);
      return cells.map(({ pieces, ...cell }) => ({ ...cell, pieces: pieces.map(contextEvent) }));
    },
    interrupt: (cancel) => calls.interrupt(id, cancel),
    restart: (cancel) => calls.restart(id, cancel),
    check: (code, cancel) => calls.check(id, { code }, cancel),
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

type CellAnswer = ResultOf<typeof contexts.run>;
type Piece = ResultOf<typeof contexts.cells>[number]['pieces'][number];

function contextEvent(event: Piece): ContextEvent {
  return event.type === 'result' ? { type: 'result', result: richOf(event.result) } : event;
}

function contextResult({ results, value, ...rest }: CellAnswer): ContextResult {
  return { ...rest, results: results.map(richOf), value: value && richOf(value) };
}

function richOf({ png, jpeg, ...rich }: CellAnswer['results'][number]): Rich {
  return {
    ...rich,
    ...(png !== undefined && { png: bytesOf({ base64: png }) }),
    ...(jpeg !== undefined && { jpeg: bytesOf({ base64: jpeg }) }),
  };
}

export type { ContextEvent, ContextResult, Rich };
