import { join } from 'node:path';
import { Ledger } from '../../src/ledger/ledger.ts';
import { openMemory } from '../../src/memory/open-memory.ts';
import { Accounting, modelChapter } from '../../src/models/accounting.ts';
import { openModels } from '../../src/models/open-models.ts';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import type { Egress } from '../../src/seams/egress.ts';
import type { EventSink } from '../../src/seams/events.ts';
import type { SolveEvent, SolveRequest, SolveResult } from '../../src/seams/solve.ts';
import { type OpenedSolves, openSolves } from '../../src/solve/open-solves.ts';
import { solveChapter } from '../../src/solve/solve-table.ts';
import {
  type ModelCall,
  type ModelServer,
  type Script,
  startModelServer,
} from '../fixtures/model-server/model-server.ts';
import { wordEmbedder } from '../memory/word-embedder.ts';
import { openRuns } from '../runs/harness.ts';

export function solution(
  code: string,
  checks = '',
  language = 'python',
  needs = '',
  dependencies: readonly string[] = [],
) {
  return {
    text: JSON.stringify({ language, code, files: [], checks, dependencies, needs }),
    usage: { input: 100, output: 50 },
  };
}

export function reflection(cause: string) {
  return { text: JSON.stringify({ analysis: 'Looked at it.', cause, change: 'Do it right.' }) };
}

/** One after the other; more calls than answers fail. */
export function answers(...replies: readonly ReturnType<Script>[]): Script {
  return (_call: ModelCall, number) =>
    replies[number - 1] ?? { status: 400, body: '{"error":{"message":"no more answers"}}' };
}

/** All that solving needs, with a scripted model and real sandboxes. */
export interface Shop extends AsyncDisposable {
  readonly server: ModelServer;
  readonly solves: OpenedSolves;
  readonly memory: ReturnType<typeof openMemory>;
  solve(request: SolveRequest, signal?: AbortSignal): Promise<{ events: SolveEvent[]; result: SolveResult }>;
}

interface ShopOptions {
  readonly egress?: Egress;
  readonly events?: EventSink;
  readonly recallTokens?: number;
}

export async function openShop(
  folder: string,
  script: Script,
  { egress, events, recallTokens }: ShopOptions = {},
): Promise<Shop> {
  const server = await startModelServer(script);
  const ledger = new Ledger(join(folder, 'ledger.db'), [modelChapter, solveChapter]);
  const memory = openMemory({ file: join(folder, 'memory.db'), embedder: wordEmbedder() });
  const { runs, ...opened } = await openRuns(bubblewrapRuntime, {}, egress ? { egress } : {});
  const models = openModels({
    services: { scripted: { kind: 'anthropic', baseUrl: `${server.url}/v1`, apiKey: 'the-key' } },
    default: 'scripted/claude-sonnet-4-5',
    prices: {},
    accounting: new Accounting(ledger, null),
    timeoutMs: 60_000,
    retries: 0,
  });
  const solves = openSolves({
    ...{ ledger, runs, models, memory },
    ...(events && { events }),
    ...(recallTokens !== undefined && { recallTokens }),
  });
  return {
    server,
    solves,
    memory,
    async solve(request, signal) {
      const events: SolveEvent[] = [];
      for await (const event of solves.of('alice').solve(request, { signal })) events.push(event);
      return { events, result: resultOf(events) };
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await opened.close();
      await memory.stop();
      ledger[Symbol.dispose]();
    },
  };
}

export function resultOf(events: readonly SolveEvent[]): SolveResult {
  const last = events.at(-1);
  if (last?.type !== 'result') throw new Error(`The last event is ${last?.type}`);
  return last;
}
