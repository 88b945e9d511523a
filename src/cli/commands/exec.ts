import type { Host } from '../../config/host.ts';
import { GeodeError, isGeodeError } from '../../core/errors.ts';
import { parseSize } from '../../core/limits.ts';
import type { ExitFacts, Process } from '../../core/process.ts';
import type { Sandbox, SandboxSpec } from '../../core/sandbox.ts';
import {
  type CliCommand,
  type CliContext,
  type CliValues,
  exitCodes,
  interruptedCode,
  text,
} from '../command.ts';
import { envFrom, exitCodeOf, runtimeFrom, sandboxOptions, timeoutFrom } from '../sandbox-options.ts';
import { showPull } from '../show-pull.ts';

export const execCommand: CliCommand = {
  name: 'exec',
  summary: 'run a command in a fresh sandbox',
  usage: '[OPTION …] [--] COMMAND [ARGUMENT …]',
  examples: [
    ['geode exec -- uname -a', 'in the strongest runtime that works here'],
    ['echo 1 2 | geode exec --runtime bubblewrap -- wc -w', 'stdin is passed on'],
    [
      'geode exec --runtime docker --image python:3.12-slim --memory 256m -- python3 -c "print(6*7)"',
      'in an image, with a limit',
    ],
  ],
  options: {
    ...sandboxOptions,
    image: { type: 'string', value: 'IMAGE', description: 'image to run in, where the runtime has images' },
    timeout: {
      type: 'string',
      value: 'SECONDS',
      description: 'kill it after that long (default 60; 0: never)',
    },
    quiet: { type: 'boolean', short: 'q', description: 'do not name the sandbox on stderr' },
  },
  passThrough: true,
  async run(context) {
    const [program, ...rest] = context.positionals;
    if (program === undefined) {
      throw new GeodeError('invalid_input', 'There is no command to run.', {
        hint: 'geode exec -- COMMAND',
        details: { usage: true },
      });
    }
    const spec = specFrom(context.values, context.host);
    const runtime = runtimeFrom(context.values);
    const timeoutMs = timeoutFrom(context.values);
    try {
      const app = await context.app();
      const quiet = context.values.quiet === true || context.json;
      const pull = showPull();
      await using sandbox = await app
        .open(spec, {
          ...(runtime === undefined ? {} : { runtime }),
          signal: context.signal,
          onPull: quiet ? () => {} : pull.show,
        })
        .finally(pull.end);
      if (!quiet) {
        context.err(`sandbox ${sandbox.id}: runtime ${sandbox.runtime}, isolation grade ${sandbox.grade}`);
      }
      return await runIn(sandbox, [program, ...rest], timeoutMs, context);
    } catch (error) {
      if (isGeodeError(error) && error.code !== 'cancelled') {
        if (context.json) context.out(JSON.stringify(error));
        else context.err(`geode: ${error.message}\n  ${error.hint}`);
        return exitCodes.notRun;
      }
      throw error;
    } finally {
      // An open pipe that nobody writes to would keep this program waiting.
      process.stdin.destroy();
    }
  },
};

async function runIn(
  sandbox: Sandbox,
  argv: readonly [string, ...string[]],
  timeoutMs: number | null,
  context: CliContext,
): Promise<number> {
  const stdin = process.stdin.isTTY ? {} : { stdin: process.stdin as AsyncIterable<Uint8Array> };
  if (context.json) {
    const { bytes, ...result } = await sandbox.exec(
      { argv, timeoutMs, ...stdin },
      { signal: context.signal },
    );
    context.out(
      JSON.stringify({ ...result, sandbox: sandbox.id, runtime: sandbox.runtime, grade: sandbox.grade }),
    );
    return exitCodeOf(result);
  }
  const running = await sandbox.spawn({ argv, timeoutMs, ...stdin }, { signal: context.signal });
  const exit = await show(running, context.signal);
  if (exit.timedOut) context.err(`geode: timed out after ${timeoutMs} ms; everything it started was killed`);
  if (exit.oomKilled) context.err('geode: the memory limit was reached');
  return context.signal.aborted ? interruptedCode(context.signal.reason) : exitCodeOf(exit);
}

async function show(running: Process, signal: AbortSignal): Promise<ExitFacts> {
  const stop = () => void running.kill().catch(() => {});
  signal.addEventListener('abort', stop, { once: true });
  for await (const event of running) {
    if (event.type === 'exit') return event;
    if (event.type === 'output-lost' || signal.aborted) continue;
    const stream = event.type === 'stdout' ? process.stdout : process.stderr;
    if (!stream.write(event.bytes)) await drained(stream, signal);
  }
  throw new GeodeError('internal', 'The command ended without an exit record.');
}

/** Until the reader has room again, or is gone. */
function drained(stream: NodeJS.WriteStream, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    stream.on('drain', done);
    signal.addEventListener('abort', done);
  });
}

function specFrom(values: CliValues, host: Host): SandboxSpec {
  const image = text(values, 'image');
  const memory = text(values, 'memory');
  return {
    env: envFrom(values, host),
    ...(image === undefined ? {} : { image }),
    ...(memory === undefined
      ? {}
      : { limits: { memoryBytes: memory === 'none' ? null : parseSize(memory, '--memory') } }),
  };
}
