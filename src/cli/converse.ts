import { createInterface, type Interface } from 'node:readline';
import { isGeodeError } from '../base/errors.ts';
import type { ContextEvent, ContextResult, RemoteContext, Rich } from '../client/contexts.ts';
import { exitCodes, interruptedCode } from './command.ts';

export interface InterpreterStreams {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly errors: NodeJS.WritableStream;
  /** Someone types: prompts are shown, lines can be edited, Ctrl-C is a key. */
  readonly terminal: boolean;
  readonly json: boolean;
  readonly timeoutMs: number | null;
  readonly signal: AbortSignal;
}

type Context = Pick<RemoteContext, 'language' | 'run' | 'check' | 'interrupt' | 'restart'>;

/** Python's exception for a requested exit. */
const leaving = 'SystemExit';
const prompts = { first: '>>> ', next: '... ' } as const;

/** Reads statements, runs each one when it is complete, and shows the result, until the input ends. */
export async function converse(context: Context, conversation: InterpreterStreams): Promise<number> {
  const { terminal, signal } = conversation;
  const lines = linesFrom(conversation);
  const state = { typed: [] as string[], running: false, failed: false, ignored: false };
  lines.on('SIGINT', () => void interrupt());
  const hangUp = () => lines.close();
  signal.addEventListener('abort', hangUp, { once: true });

  async function interrupt(): Promise<void> {
    if (!state.running) {
      state.typed = [];
      lines.write(null, { ctrl: true, name: 'u' });
      conversation.output.write('\n');
      return ask();
    }
    if (state.ignored) return context.restart();
    state.ignored = (await context.interrupt()) === 'ignored';
    if (state.ignored)
      conversation.errors.write('It does not stop. Ctrl-C again restarts the interpreter.\n');
  }

  function ask(): void {
    if (!terminal) return;
    lines.setPrompt(state.typed.length === 0 ? prompts.first : prompts.next);
    lines.prompt();
  }

  async function run(): Promise<number | undefined> {
    const code = state.typed.join('\n');
    state.typed = [];
    if (code.trim() === '') return undefined;
    state.running = true;
    const result = await runAndShow(context, code, conversation);
    state.running = false;
    state.ignored = false;
    state.failed ||= result?.status !== 'done';
    return result === undefined ? undefined : leavingCode(context, result);
  }

  try {
    ask();
    for await (const line of lines) {
      state.typed.push(line);
      const whole = (await context.check(state.typed.join('\n'), { signal })) !== 'incomplete';
      const exitCode = whole ? await run() : undefined;
      if (exitCode !== undefined) return exitCode;
      ask();
    }
    const exitCode = signal.aborted ? interruptedCode(signal.reason) : await run();
    if (terminal) conversation.output.write('\n');
    return exitCode ?? (state.failed && !terminal ? exitCodes.failed : exitCodes.done);
  } finally {
    signal.removeEventListener('abort', hangUp);
    lines.close();
  }
}

function linesFrom({ input, output, terminal }: InterpreterStreams): Interface {
  return createInterface({
    input,
    terminal,
    ...(terminal ? { output } : {}),
    crlfDelay: Number.POSITIVE_INFINITY,
  });
}

/** Undefined when a restart ended the run. */
async function runAndShow(
  context: Context,
  code: string,
  conversation: InterpreterStreams,
): Promise<ContextResult | undefined> {
  const { json, timeoutMs, signal, output, errors } = conversation;
  try {
    const onEvent = json ? {} : { onEvent: (event: ContextEvent) => show(event, conversation) };
    const result = await context.run(code, { timeoutMs, signal, ...onEvent });
    if (json) output.write(`${JSON.stringify(result, asBase64)}\n`);
    else if (result.status === 'timed-out') errors.write(`It was stopped after ${timeoutMs} ms.\n`);
    if (!json && result.exit !== null) errors.write(`${endText(result.exit)} The next one is fresh.\n`);
    return result;
  } catch (error) {
    if (!isGeodeError(error, 'cancelled') || signal.aborted) throw error;
    errors.write('The interpreter was restarted: variables are gone.\n');
    return undefined;
  }
}

function show(event: ContextEvent, { output, errors }: InterpreterStreams): void {
  if (event.type === 'stdout') output.write(event.text);
  else if (event.type === 'stderr') errors.write(event.text);
  else if (event.type === 'result') output.write(`${shown(event.result)}\n`);
  else if (event.error.name !== leaving) errors.write(`${event.error.traceback.trimEnd()}\n`);
}

/** The best form that a terminal can show. Other content is named with its size. */
function shown(rich: Rich): string {
  const written = rich.markdown ?? rich.latex ?? rich.html;
  const text = /^<\w+>$/.test(rich.text) && written !== undefined ? written : rich.text;
  const pictures = (['png', 'jpeg', 'svg'] as const).flatMap((form) =>
    rich[form] === undefined ? [] : [`[${form}, ${rich[form].length} bytes]`],
  );
  return [text, ...pictures].join(' ');
}

function endText({ exitCode, signal, oomKilled }: NonNullable<ContextResult['exit']>): string {
  if (oomKilled) return 'The interpreter ran out of memory and was killed.';
  return `The interpreter ended ${exitCode === null ? `by ${signal}` : `with exit code ${exitCode}`}.`;
}

/** Code that exits ends the conversation, with its code. */
function leavingCode({ language }: Context, { status, error, exit }: ContextResult): number | undefined {
  if (language === 'python' && error?.name === leaving)
    return /^\d+$/.test(error.message) ? Number(error.message) : 0;
  if (language === 'javascript' && status === 'ended') return exit?.exitCode ?? undefined;
  return undefined;
}

function asBase64(this: unknown, _key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value;
}
