import { GeodeError } from '../../base/errors.ts';
import type { GeodeClient } from '../../client/client.ts';
import type { FreshSandbox } from '../../client/run-socket.ts';
import type { RemoteCommand } from '../../client/sandbox.ts';
import type { Machine } from '../../machine/machine.ts';
import { type CliCommand, type CliContext, type CliValues, text } from '../command.ts';
import { connectRuns } from '../hosting.ts';
import {
  egressFrom,
  egressOptions,
  networkFrom,
  networkOption,
  warnIfAdvice,
} from '../input/egress-options.ts';
import { envFrom, limitsFrom, runtimeFrom, sandboxOptions, timeoutFrom } from '../input/sandbox-options.ts';
import { atProgram } from '../input/split-arguments.ts';
import { showPull } from '../render/show-pull.ts';
import { orNotRun, passThrough, stdinOf } from '../run-command.ts';

export const execCommand: CliCommand = {
  name: 'exec',
  summary: 'Run one command in a fresh sandbox',
  usage: '[OPTION …] [--] COMMAND [ARGUMENT …]',
  examples: [
    ['geode exec -- uname -a', 'uses the strongest runtime that works here'],
    ['echo 1 2 | geode exec --runtime bubblewrap -- wc -w', 'passes stdin on'],
    [
      'geode exec --runtime docker --image python:3.12-slim --memory 256m -- python3 -c "print(6*7)"',
      'uses an image and a memory limit',
    ],
  ],
  options: {
    ...sandboxOptions,
    ...egressOptions,
    ...networkOption,
    image: {
      type: 'string',
      value: 'IMAGE',
      description: 'image to run in, where the runtime supports images',
    },
    timeout: {
      type: 'string',
      value: 'SECONDS',
      description: 'kill the command after this time (default 60; 0: never)',
    },
    quiet: { type: 'boolean', short: 'q', description: "do not print the sandbox's name on stderr" },
  },
  split: atProgram,
  async run(context) {
    const [program, ...rest] = context.positionals;
    if (program === undefined) {
      throw new GeodeError('invalid_input', 'There is no command to run.', {
        hint: 'geode exec -- COMMAND',
        details: { usage: true },
      });
    }
    const sandbox = await specFrom(context.values, context.machine);
    const command = { argv: [program, ...rest] as const, timeoutMs: timeoutFrom(context.values) };
    return orNotRun(context, async () => {
      await using host = connectRuns(context);
      return await execIn(host.client, command, sandbox, context);
    });
  },
};

async function execIn(
  client: GeodeClient,
  command: RemoteCommand,
  sandbox: FreshSandbox,
  context: CliContext,
): Promise<number> {
  const quiet = context.values.quiet === true || context.json;
  const stdin = stdinOf(context.streams);
  const pull = showPull(context.streams.stderr);
  const running = await client.runs
    .exec({ ...command, interactive: stdin !== undefined }, sandbox, {
      opening: context.signal,
      ...(!quiet && { onPull: pull.show }),
    })
    .finally(pull.end);
  try {
    const { id, runtime, grade, hatch } = running.sandbox;
    if (!quiet) context.err(`sandbox ${id}: runtime ${runtime}, isolation grade ${grade}`);
    if (!quiet && hatch !== undefined) warnIfAdvice(hatch === 'enforced', context);
    return await passThrough(running, context, { stdin });
  } finally {
    running.close();
  }
}

async function specFrom(values: CliValues, machine: Machine): Promise<FreshSandbox> {
  const image = text(values, 'image');
  const runtime = runtimeFrom(values);
  const egress = await egressFrom(values);
  return {
    env: envFrom(values, machine),
    limits: limitsFrom(values),
    ...(image !== undefined && { image }),
    ...(runtime !== undefined && { runtime }),
    ...(egress !== undefined && { egress }),
    ...networkFrom(values),
  };
}
