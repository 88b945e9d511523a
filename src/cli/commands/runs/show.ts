import { type CliCommand, exitCodes } from '../../command.ts';
import { wrongUsage } from '../../input/values.ts';
import { visible } from '../../render/printable.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const runsShowCommand: CliCommand = {
  name: 'runs show',
  summary: 'Show a finished run: code, output, exit',
  usage: '[OPTION …] ID',
  examples: [['geode runs show 3f6c…', 'geode runs ls lists the ids']],
  options: { ...forUserOption },
  async run(context) {
    const { positionals, json, out, signal } = context;
    const [id, ...more] = positionals;
    if (id === undefined || more.length > 0) throw wrongUsage('geode runs show takes one id');
    const run = await userClient(context).runs.get(id, { signal });
    if (json) {
      out(JSON.stringify(run));
      return exitCodes.done;
    }
    const lines = (words: string) => words.replace(/\n$/, '').split('\n').map(visible);
    for (const line of lines(run.code)) out(`  | ${line}`);
    for (const { text } of run.output) for (const line of lines(text)) out(line);
    if (run.droppedBytes > 0) out(`… ${run.droppedBytes} more bytes of output were not kept`);
    if (run.artifacts.length > 0) out(`Files: ${run.artifacts.map(visible).join(', ')}`);
    if (run.denied.length > 0) out(`Refused: ${run.denied.map(visible).join(', ')}`);
    const how = run.signal ?? run.exitCode;
    out(`${run.language}, ${run.runtime} (${run.grade}): ${run.outcome}${how === null ? '' : ` (${how})`}`);
    return exitCodes.done;
  },
};
