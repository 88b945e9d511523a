import type { Host } from '../../config/host.ts';
import { GeodeError, isGeodeError } from '../../core/errors.ts';
import { parseSize } from '../../core/limits.ts';
import type { ExitFacts, Process } from '../../core/process.ts';
import { type RuntimeName, runtimeNames } from '../../core/runtime.ts';
import type { Sandbox, SandboxSpec } from '../../core/sandbox.ts';
import {
  type CliCommand,
  type CliContext,
  type CliValues,
  exitCodes,
  interruptedCode,
  signalCode,
  text,
  texts,
} from '../command.ts';

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
    runtime: {
      type: 'string',
      value: 'NAME',
      description: `one of ${runtimeNames.join(', ')}; default: the config's`,
    },
    image: { type: 'string', value: 'IMAGE', description: 'image to run in, where the runtime has images' },
    timeout: {
      type: 'string',
      value: 'SECONDS',
      description: 'kill it after that long (default 60; 0: never)',
    },
    memory: { type: 'string', value: 'SIZE', description: 'memory limit: 256m, 1g, or none' },
    env: {
      type: 'string',
      short: 'e',
      multiple: true,
      value: 'NAME[=VALUE]',
      description: 'set a variable, or pass one on by its name; may be repeated',
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
      await using sandbox = await app.open(spec, {
        ...(runtime === undefined ? {} : { runtime }),
        signal: context.signal,
      });
      if (context.values.quiet !== true && !context.json) {
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

export function exitCodeOf({ exitCode, signal, timedOut }: ExitFacts): number {
  if (timedOut) return exitCodes.timedOut;
  if (exitCode !== null) return exitCode;
  return signalCode(signal ?? '');
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

export function envFrom(values: CliValues, host: Host): Readonly<Record<string, string>> {
  return Object.fromEntries(texts(values, 'env').map((setting) => pair(setting, host)));
}

/** `NAME` alone takes the value from here, so that a secret need not stand on a command line. */
function pair(setting: string, host: Host): readonly [string, string] {
  const at = setting.indexOf('=');
  if (at > 0) return [setting.slice(0, at), setting.slice(at + 1)];
  const value = at === 0 ? undefined : host.variable(setting);
  if (value !== undefined) return [setting, value];
  throw new GeodeError(
    'invalid_input',
    `--env ${setting} is neither NAME=VALUE nor a variable that is set here.`,
    {
      details: { usage: true },
    },
  );
}

export function runtimeFrom(values: CliValues): RuntimeName | undefined {
  const name = text(values, 'runtime');
  if (name === undefined) return undefined;
  const known = runtimeNames.find((candidate) => candidate === name);
  if (known !== undefined) return known;
  throw new GeodeError('invalid_input', `There is no runtime ${name}.`, {
    hint: `Use one of ${runtimeNames.join(', ')}.`,
    details: { usage: true },
  });
}

export function timeoutFrom(values: CliValues): number | null {
  const given = text(values, 'timeout') ?? '60';
  const seconds = /^\d+(\.\d+)?$/.test(given) ? Number(given) : Number.NaN;
  if (Number.isNaN(seconds)) {
    throw new GeodeError(
      'invalid_input',
      `--timeout ${text(values, 'timeout')} is not a number of seconds.`,
      { details: { usage: true } },
    );
  }
  return seconds === 0 ? null : seconds * 1000;
}
