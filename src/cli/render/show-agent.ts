import type { AgentEvent } from '../../seams/agent.ts';
import { type CliContext, exitCodes } from '../command.ts';
import { printable, visible } from './printable.ts';

/**
 * Shows what an agent does as it happens: its words on stdout, everything else on stderr. With `--json`: one event a
 * line. Gives the exit code of the last turn that ended.
 */
export async function showAgent(
  events: AsyncIterable<AgentEvent>,
  { json, values, streams, out, err, paint }: CliContext,
): Promise<number> {
  let code: number = exitCodes.done;
  let isInLine = false;
  const endLine = () => {
    if (isInLine) streams.stdout.write('\n');
    isInLine = false;
  };
  for await (const event of events) {
    if (event.type === 'result') code = event.outcome === 'done' ? exitCodes.done : exitCodes.failed;
    if (event.type === 'error') code = exitCodes.failed;
    if (json) {
      out(JSON.stringify(event));
    } else if (event.type === 'text') {
      const words = printable(event.text);
      streams.stdout.write(words);
      isInLine = !words.endsWith('\n');
    } else {
      endLine();
      const isShown = values.quiet !== true || event.type === 'error' || event.type === 'permission-request';
      if (isShown) for (const line of linesOf(event, paint)) err(line);
    }
  }
  endLine();
  return code;
}

function linesOf(event: AgentEvent, paint: CliContext['paint']): readonly string[] {
  switch (event.type) {
    case 'turn-resume':
      return [paint('dim', 'another host goes on')];
    case 'answer-restart':
      return [paint('dim', 'the connection to the model was cut; it begins again')];
    case 'tool-call':
      return [`${paint('cyan', event.tool)} ${paint('dim', shortly(event.input))}`];
    case 'tool-result':
      return clipped(event.output).map((line) => paint(event.failed ? 'red' : 'dim', `    ${line}`));
    case 'file-change':
      return [paint('yellow', `${event.change} ${event.path}`)];
    case 'permission-request':
      return [
        `It asks for permission to use ${event.tool}: ${shortly(event.input)}`,
        `    geode approvals allow ${event.id}    or    geode approvals deny ${event.id}`,
      ];
    case 'permission-answer':
      return [paint('dim', event.answer === 'deny' ? 'denied' : 'allowed')];
    case 'result':
      return [paint('dim', `${sayings[event.outcome]} ${costOf(event)}`)];
    case 'error':
      return [paint('red', `${event.code}: ${event.message}`), event.hint];
    default:
      return [];
  }
}

const sayings = {
  done: 'done',
  interrupted: 'interrupted',
  limit: 'stopped: it took as long as a turn may',
} as const;

function costOf({ cost, usage, durationMs }: Extract<AgentEvent, { type: 'result' }>): string {
  const tokens = `${usage.inputTokens + usage.outputTokens} tokens`;
  const seconds = `${(durationMs / 1000).toFixed(1)} s`;
  return `(${[seconds, tokens, ...(cost === null ? [] : [`$${cost.toFixed(4)}`])].join(', ')})`;
}

const mostLine = 200;
const mostLines = 12;

function shortly(input: unknown): string {
  const text = visible(typeof input === 'string' ? input : JSON.stringify(input)).replaceAll('\n', ' ');
  return text.length <= mostLine ? text : `${text.slice(0, mostLine)}…`;
}

function clipped(output: string): readonly string[] {
  const lines = printable(output).trimEnd().split('\n');
  const more = lines.length - mostLines;
  return more <= 0 ? lines : [...lines.slice(0, mostLines), `… ${more} more lines`];
}
