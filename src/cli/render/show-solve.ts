import type { SolveEvent, SolveOutcome, SolveResult } from '../../seams/solve.ts';
import { type CliContext, exitCodes } from '../command.ts';
import { visible } from './printable.ts';

/** Shows a solve as it happens, on stderr; the solution is all that goes to stdout. With `--json`: one event a line. */
export async function showSolve(
  events: AsyncIterable<SolveEvent>,
  { json, values, out, err, paint }: CliContext,
): Promise<number> {
  let result: SolveResult | undefined;
  for await (const event of events) {
    if (json) out(JSON.stringify(event));
    else if (values.quiet !== true) for (const line of linesOf(event, paint)) err(line);
    if (event.type === 'result') result = event;
  }
  if (result === undefined) return exitCodes.failed;
  const isSolution = result.outcome === 'solved' || result.outcome === 'unverified';
  if (!json && isSolution && result.code !== null) out(result.code.trimEnd());
  return isSolution ? exitCodes.done : exitCodes.failed;
}

function linesOf(event: SolveEvent, paint: CliContext['paint']): readonly string[] {
  const indent = (text: string) =>
    visible(text.trimEnd())
      .split('\n')
      .map((line) => `    ${line}`);
  switch (event.type) {
    case 'solve-start':
      return [paint('dim', `solve ${event.id}`)];
    case 'recalled':
      return event.crystals.map(({ problem }) =>
        paint('dim', `remembered: ${visible(problem.replaceAll('\n', ' ').slice(0, 70))}`),
      );
    case 'attempt-start':
      return [
        '',
        paint('bold', `Attempt ${event.attempt}${event.origin === 'crystal' ? ', an earlier solution' : ''}`),
      ];
    case 'install': {
      const { packages, succeeded, durationMs } = event.installation;
      const how = succeeded ? `installed in ${(durationMs / 1000).toFixed(1)} s` : 'could not be installed';
      return [paint('dim', `packages ${how}: ${visible(packages.join(', '))}`)];
    }
    case 'code':
      return indent(event.code);
    case 'run-output':
      return indent(event.text).map((line) => paint('dim', line));
    case 'verdict': {
      const { label, reason } = event.verdict;
      return [paint(label === 'failed' ? 'red' : 'green', `${label}: ${visible(reason)}`)];
    }
    case 'reflection':
      return [`Learned: ${visible(`${event.reflection.cause} ${event.reflection.change}`)}`];
    case 'crystal':
      return event.change === 'created' ? [paint('dim', `kept as ${event.key}`)] : [];
    case 'result':
      return ['', `${sayings[event.outcome]} ${visible(event.reason)}${costOf(event)}`];
    default:
      return [];
  }
}

const sayings: Readonly<Record<SolveOutcome, string>> = {
  solved: 'Solved.',
  unverified: 'Done, and not verified.',
  failed: 'Not solved.',
  'needs-person': 'It needs you.',
  'budget-spent': 'The budget is spent.',
  cancelled: 'Cancelled.',
};

function costOf({ attempts, cost }: SolveResult): string {
  const tried = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
  return cost > 0 ? ` (${tried}, $${cost.toFixed(4)})` : ` (${tried})`;
}
