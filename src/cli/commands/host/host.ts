import { type CliCommand, type CliContext, exitCodes, text } from '../../command.ts';
import { lockOptions, waitFrom } from '../../hosting.ts';
import { wrongUsage } from '../../input/values.ts';
import { parseSpan, spanText } from '../../render/ages.ts';
import { program, version } from '../../version.ts';

export const hostCommand: CliCommand = {
  name: 'host',
  summary: 'Run the host without a port',
  usage: '[OPTION …]',
  examples: [
    ['geode host', 'runs until Ctrl-C; geode gateway also serves a port'],
    ['geode host --linger 10m', 'exits after ten minutes without a command'],
  ],
  options: {
    ...lockOptions,
    linger: {
      type: 'string',
      value: 'TIME',
      description: 'exit this long after the last command: 90s, 10m (default: never)',
    },
  },
  async run(context) {
    const { json, out, err, signal, values, positionals } = context;
    if (positionals.length > 0) throw wrongUsage(`geode host takes no ${positionals.join(' ')}`);
    const lingerMs = lingerFrom(context);
    const { openServingHost } = await import('../../../host/serving-host.ts');
    await using host = await openServingHost({
      as: 'geode host',
      loaded: await context.loaded(),
      machine: context.machine,
      version,
      program,
      tends: 'idle',
      lingerMs,
      logLevel: 'warn',
      waitMs: waitFrom(context),
      takeOver: values['take-over'] === true,
      signal,
      warn: (message) => err(`warning: ${message}`),
    });
    const { pid } = process;
    if (json) out(JSON.stringify({ pid, socket: host.socket }));
    else out(`Host running (pid ${pid})${ending(lingerMs)}.`);
    await host.over(signal);
    return exitCodes.done;
  },
};

function ending(lingerMs: number | null): string {
  return lingerMs === null ? '' : ` , exits after ${spanText(lingerMs)} without a command`;
}

function lingerFrom({ values }: CliContext): number | null {
  const given = text(values, 'linger');
  if (given === undefined) return null;
  const ms = parseSpan(given);
  if (ms !== undefined) return ms;
  throw wrongUsage(`--linger ${given} is not a TIME: 90s, 10m, 2h`);
}
