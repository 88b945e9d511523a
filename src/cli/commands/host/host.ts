import { openServingHost } from '../../../host/serving-host.ts';
import { type CliCommand, type CliContext, exitCodes, text } from '../../command.ts';
import { lockOptions, waitFrom } from '../../hosting.ts';
import { wrongUsage } from '../../input/values.ts';
import { parseSpan, spanText } from '../../render/ages.ts';
import { program, version } from '../../version.ts';

export const hostCommand: CliCommand = {
  name: 'host',
  summary: 'hold the sandboxes that stay, stop those that are idle, and serve the commands of others',
  usage: '[OPTION …]',
  examples: [
    ['geode host', 'until Ctrl-C; geode gateway does the same'],
    ['geode host --linger 10m', 'until there was no command for that long, as one that a command starts'],
  ],
  options: {
    ...lockOptions,
    linger: {
      type: 'string',
      value: 'TIME',
      description: 'end that long after the last command: 90s, 10m (default: never)',
    },
  },
  async run(context) {
    const { json, out, err, signal, values, positionals } = context;
    if (positionals.length > 0) throw wrongUsage(`geode host takes no ${positionals.join(' ')}`);
    const lingerMs = lingerFrom(context);
    await using host = await openServingHost({
      as: 'geode host',
      loaded: await context.loaded(),
      machine: context.host,
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
    else out(`Process ${pid} is the host of the sandboxes${ending(lingerMs)}.`);
    await host.over(signal);
    return exitCodes.done;
  },
};

function ending(lingerMs: number | null): string {
  return lingerMs === null ? '' : ` until there was no command for ${spanText(lingerMs)}`;
}

function lingerFrom({ values }: CliContext): number | null {
  const given = text(values, 'linger');
  if (given === undefined) return null;
  const ms = parseSpan(given);
  if (ms !== undefined) return ms;
  throw wrongUsage(`--linger ${given} is not a TIME: 90s, 10m, 2h`);
}
