/** The spans of sandboxes and their commands: names and numbers, no arguments and no output. */
import { basename } from 'node:path';
import { inSpan, type Span, type SpanOptions, traceVariables } from '../base/spans.ts';
import type { Command, ExitFacts } from '../seams/process.ts';
import type { Sandbox } from '../seams/sandbox.ts';

/** Creating, starting or waking a sandbox. */
export function starting<T>(
  { user, chat }: { readonly user: string; readonly chat: string },
  work: () => Promise<T>,
): Promise<T> {
  return inSpan('sandbox start', { attributes: { 'geode.user': user, 'geode.chat': chat } }, work);
}

export function execSpan(
  { id, runtime }: Pick<Sandbox, 'id' | 'runtime'>,
  { argv }: Command,
): [name: string, options: SpanOptions] {
  return [
    'exec',
    {
      attributes: {
        'process.executable.name': basename(argv[0] ?? ''),
        'geode.sandbox.id': id,
        'geode.runtime': runtime,
      },
    },
  ];
}

/** Programs that know OpenTelemetry make their spans parts of this one. */
export function tracedCommand(command: Command, span: Span | undefined): Command {
  return span === undefined ? command : { ...command, env: { ...traceVariables(span), ...command.env } };
}

export function noteExit(span: Span | undefined, { exitCode, timedOut, oomKilled }: ExitFacts): void {
  span?.set({ 'process.exit.code': exitCode });
  if (timedOut) span?.fail('timed_out');
  else if (oomKilled) span?.fail('oom_killed');
  else if (exitCode !== 0) span?.fail('exit_code');
}

export function endExec(span: Span | undefined, error: unknown): void {
  span?.fail(error);
  span?.end();
}
