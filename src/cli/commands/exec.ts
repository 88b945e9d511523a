import type { Host } from '../../config/host.ts';
import { GeodeError } from '../../core/errors.ts';
import { localUser } from '../../core/identity.ts';
import type { SandboxSpec } from '../../core/sandbox.ts';
import { type CliCommand, type CliValues, text } from '../command.ts';
import { egressFrom, egressOptions, warnIfAdvice } from '../egress-options.ts';
import { orNotRun, runCommandIn, stdinOf } from '../run-command.ts';
import { envFrom, limitsFrom, runtimeFrom, sandboxOptions, timeoutFrom } from '../sandbox-options.ts';
import { showPull } from '../show-pull.ts';
import { atProgram } from '../split-arguments.ts';

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
    ...egressOptions,
    image: { type: 'string', value: 'IMAGE', description: 'image to run in, where the runtime has images' },
    timeout: {
      type: 'string',
      value: 'SECONDS',
      description: 'kill it after that long (default 60; 0: never)',
    },
    quiet: { type: 'boolean', short: 'q', description: 'do not name the sandbox on stderr' },
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
    const spec = specFrom(context.values, context.host);
    const runtime = runtimeFrom(context.values);
    const timeoutMs = timeoutFrom(context.values);
    return orNotRun(context, async () => {
      const app = await context.app();
      const egress = egressFrom(context.values, (await context.loaded()).config) ?? app.egress.initial;
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
      const owner = { sandboxId: sandbox.id, user: localUser };
      using hatch = egress && (await app.egress.open(sandbox, owner, egress, context));
      if (hatch !== undefined && !quiet) warnIfAdvice(hatch.enforced, context);
      return await runCommandIn(
        sandbox,
        {
          argv: [program, ...rest],
          timeoutMs,
          ...stdinOf(context.streams),
          ...withoutOwn(hatch?.env, spec.env),
        },
        context,
      );
    });
  },
};

/** What was asked for by name stays as it was asked for. */
function withoutOwn(added: SandboxSpec['env'], own: SandboxSpec['env'] = {}): Pick<SandboxSpec, 'env'> {
  if (added === undefined) return {};
  return { env: Object.fromEntries(Object.entries(added).filter(([name]) => !Object.hasOwn(own, name))) };
}

function specFrom(values: CliValues, host: Host): SandboxSpec {
  const image = text(values, 'image');
  return {
    env: envFrom(values, host),
    ...(image === undefined ? {} : { image }),
    limits: limitsFrom(values),
  };
}
