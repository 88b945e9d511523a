/** All that solving needs, with a model that says what its task tells it to, and what each solve took. */
import { join } from 'node:path';
import { isGeodeError } from '../../src/base/errors.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { openMemory } from '../../src/memory/open-memory.ts';
import { Accounting, modelChapter } from '../../src/models/accounting.ts';
import { openModels } from '../../src/models/open-models.ts';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import type { Embedder } from '../../src/seams/memory.ts';
import type { SolveRequest, SolveResult, Solves } from '../../src/seams/solve.ts';
import { openSolves } from '../../src/solve/open-solves.ts';
import { solveChapter } from '../../src/solve/solve-table.ts';
import { startModelServer } from '../../test/fixtures/model-server/model-server.ts';
import { openRuns } from '../../test/runs/harness.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import type { Task } from './problems.ts';

/** As many as the recorded run made. */
const mostAttempts = 10;

export interface Solved {
  readonly outcome: SolveResult['outcome'];
  /** Attempts that the model made. */
  readonly attempts: number;
  /** Earlier solutions that were run before the model was asked. */
  readonly rerun: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly ms: number;
}

export interface Workshop extends AsyncDisposable {
  /** Crystals belong to a user: a user without solves has none. */
  solve(user: string, task: Task): Promise<Solved>;
}

export async function openWorkshop(embedder: Embedder): Promise<Workshop> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(temporaryFolder());
  let task: Task | undefined;
  let attempt = 0;
  const server = opened.use(
    await startModelServer(({ prompt }) => {
      const reflects = prompt.includes('Use the evidence');
      if (!reflects) attempt += 1;
      const { code = '', reflection = '' } = task?.answer(attempt, prompt) ?? {};
      const said = reflects
        ? { analysis: reflection, cause: reflection, change: 'Do it another way.' }
        : { language: 'python', code, files: [], checks: '', dependencies: [], needs: '' };
      const text = JSON.stringify(said);
      // Four characters to a token: the same measure for prompts with and without what was recalled.
      return { text, usage: { input: Math.ceil(prompt.length / 4), output: Math.ceil(text.length / 4) } };
    }),
  );
  const ledger = opened.use(new Ledger(join(folder.path, 'ledger.db'), [modelChapter, solveChapter]));
  const memory = opened.use(openMemory({ file: join(folder.path, 'memory.db'), embedder }));
  const { runs, close } = await openRuns(bubblewrapRuntime);
  opened.defer(close);
  const models = openModels({
    services: { scripted: { kind: 'anthropic', baseUrl: `${server.url}/v1`, apiKey: 'none' } },
    default: 'scripted/replay',
    prices: {},
    accounting: new Accounting(ledger, null),
    timeoutMs: 60_000,
    retries: 0,
  });
  const solves = openSolves({ ledger, runs, models, memory });
  const all = opened.move();
  return {
    async solve(user, given) {
      [task, attempt] = [given, 0];
      const { problem, tests } = given;
      const start = performance.now();
      const request = { problem, tests, language: 'python', attempts: mostAttempts };
      const result = await resultOf(solves.of(user), request);
      const ms = performance.now() - start;
      // Wait until the index is done, as it would be for people, who are slower than this loop.
      await memory.settled();
      const { outcome, usage } = result;
      return {
        outcome,
        attempts: attempt,
        rerun: result.attempts - attempt,
        inputTokens: usage.inputTokens,
        outputTokens: usage.outputTokens,
        ms,
      };
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** A machine that is too busy to open a sandbox in time interrupts a solve; it then goes on where it was. */
async function resultOf(solves: Solves, request: SolveRequest): Promise<SolveResult> {
  let events = solves.solve(request);
  let id = '';
  for (let patience = 20; ; patience -= 1) {
    try {
      for await (const event of events) {
        if (event.type === 'solve-start') id = event.id;
        if (event.type === 'result') return event;
      }
      throw new Error(`${request.problem} ended without a result`);
    } catch (error) {
      if (!isGeodeError(error, 'runtime_unavailable') || patience === 0) throw error;
      events = solves.resume(id);
    }
  }
}
