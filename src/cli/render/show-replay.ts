import { GeodeError } from '../../base/errors.ts';
import type { ReplayDifference, ReplayEvent, ReplayedFile, ReplayOutcome } from '../../seams/replay.ts';
import type { CliContext } from '../command.ts';
import { printable, printableLine, visible } from './printable.ts';

type End = Extract<ReplayEvent, { type: 'replay-end' }>;
type Paint = CliContext['paint'];

const mostLine = 160;
const mostLines = 40;

/** Shows a replay as it runs. With `--json`: one event a line. */
export async function showReplay(
  events: AsyncIterable<ReplayEvent>,
  { json, out, paint }: CliContext,
): Promise<End> {
  let end: End | undefined;
  for await (const event of events) {
    if (event.type === 'replay-end') end = event;
    if (json) out(JSON.stringify(event));
    else for (const line of linesOf(event, paint)) out(line);
  }
  if (end !== undefined) return end;
  throw new GeodeError('host_lost', 'The connection ended before the replay did.', {
    hint: 'Run the command again: a replay changes nothing.',
  });
}

function linesOf(event: ReplayEvent, paint: Paint): readonly string[] {
  switch (event.type) {
    case 'replay-start': {
      const with_ = event.model === null ? 'the recorded answers' : printableLine(event.model);
      const message = clip(printableLine(event.message));
      return [
        `${paint('bold', event.turn.slice(0, 8))} ${message}`,
        paint('dim', `in a sealed copy of the files before the turn, with ${with_}`),
      ];
    }
    case 'replay-call': {
      const color = { same: 'green', different: 'red', served: 'dim' } as const;
      const input = clip(visible(JSON.stringify(event.input) ?? '').replaceAll('\n', ' '));
      const result = event.result === 'served' ? 'not compared' : event.result;
      return [`${event.step}. ${event.tool} ${paint('dim', input)} ${paint(color[event.result], result)}`];
    }
    case 'replay-difference':
      return ['', ...differenceLines(event, paint), ''];
    case 'replay-end':
      return endLines(event, paint);
  }
}

function differenceLines(
  { step, kind, what, recorded, replayed }: ReplayDifference,
  paint: Paint,
): readonly string[] {
  const titles = {
    call: `call ${step} is another one`,
    result: `the result of call ${step} (${printableLine(what)})`,
    answer: 'the last answer',
    files: `the file ${printableLine(what)}`,
  };
  return [
    paint('bold', `First difference: ${titles[kind]}`),
    ...sideLines('recorded', recorded).map((line) => paint('red', line)),
    ...sideLines('replayed', replayed).map((line) => paint('green', line)),
  ];
}

function sideLines(side: string, text: string): readonly string[] {
  const lines = printable(text).trimEnd().split('\n');
  const shown = lines.slice(0, mostLines).map((line) => `  ${side} | ${line}`);
  const more = lines.length - mostLines;
  return more <= 0 ? shown : [...shown, `  ${side} | … ${more} more lines`];
}

const verdicts: Readonly<Record<End['verdict'], string>> = {
  same: 'Same outcome.',
  different: 'Another outcome.',
  better: 'Better: only the replay finished.',
  worse: 'Worse: only the recorded turn finished.',
};

function endLines(end: End, paint: Paint): readonly string[] {
  const { verdict, recorded, replayed, files, differences, notes, kept } = end;
  const more = differences > 1 ? [`${differences} differences in all.`] : [];
  return [
    paint('bold', verdicts[verdict]),
    ...more,
    `  recorded: ${outcomeText(recorded)}`,
    `  replayed: ${outcomeText(replayed)}`,
    ...files.flatMap((file) => fileLines(file, paint)),
    ...notes.map((note) => paint('yellow', printable(note))),
    ...(kept === null ? [] : [`The copy stays as the chat ${kept}: geode shell ${kept}`]),
  ];
}

function outcomeText({ outcome, calls, failedCalls, usage, cost, durationMs }: ReplayOutcome): string {
  const failed = failedCalls === 0 ? '' : ` (${failedCalls} failed)`;
  const tokens = usage.inputTokens + usage.outputTokens;
  const price = cost === null ? [] : [`$${cost.toFixed(4)}`];
  return [
    outcome,
    `${calls} calls${failed}`,
    `${(durationMs / 1000).toFixed(1)} s`,
    `${tokens} tokens`,
    ...price,
  ].join(', ');
}

function fileLines({ path, same, recorded, replayed }: ReplayedFile, paint: Paint): readonly string[] {
  const name = printableLine(path);
  if (same === true) return [paint('dim', `  ${name}: same`)];
  if (same === null) return [paint('dim', `  ${name}: same kind and size, content not compared`)];
  const side = (title: string, diff: string | null) => [
    paint('dim', `    ${title}:`),
    ...sideText(diff).map((line) => `      ${line}`),
  ];
  return [
    paint('yellow', `  ${name}: differs`),
    ...side('recorded', recorded),
    ...side('replayed', replayed),
  ];
}

function sideText(diff: string | null): readonly string[] {
  if (diff === null) return ['(not text)'];
  if (diff === '') return ['(unchanged)'];
  const lines = printable(diff).trimEnd().split('\n');
  const more = lines.length - mostLines;
  return more <= 0 ? lines : [...lines.slice(0, mostLines), `… ${more} more lines`];
}

function clip(text: string): string {
  return text.length <= mostLine ? text : `${text.slice(0, mostLine)}…`;
}
