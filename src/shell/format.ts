/** The facts of a finished command; the result of `Workspace.exec` has them all. */
export interface FinishedCommand {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly oomKilled: boolean;
  readonly durationMs: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Bytes written but not stored. */
  readonly dropped: { readonly stdout: number; readonly stderr: number };
  /** The id of the journal that has the rest. */
  readonly processId?: string;
}

export interface FormatOptions {
  /** Maximum bytes of each stream to show; a note says how much is left out. Default 100,000. */
  readonly limitBytes?: number;
}

const defaultLimitBytes = 100_000;

/**
 * A finished command for people and models: its output, its errors, and how it ended unless that is a plain success.
 * Every cut is marked.
 */
export function formatResult(result: FinishedCommand, options: FormatOptions = {}): string {
  const limitBytes = options.limitBytes ?? defaultLimitBytes;
  const stdout = shorten(result.stdout, limitBytes);
  const stderr = shorten(result.stderr, limitBytes);
  const blocks: string[] = [];
  if (stdout.text !== '') blocks.push(withoutLastBreak(stdout.text));
  if (stderr.text !== '') blocks.push(`--- stderr ---\n${withoutLastBreak(stderr.text)}`);
  blocks.push(
    ...leftOut('stdout', stdout.cutBytes + result.dropped.stdout, result.processId),
    ...leftOut('stderr', stderr.cutBytes + result.dropped.stderr, result.processId),
    ...ending(result),
  );
  return blocks.length === 0 ? '[No output]' : blocks.join('\n');
}

/** How it ended, most important fact first; empty for a plain success. */
function ending(result: FinishedCommand): string[] {
  if (result.timedOut) return [`[Timed out after ${seconds(result.durationMs)} s]`];
  if (result.oomKilled) return ['[Out of memory]'];
  if (result.signal !== null) return [`[Killed by ${result.signal}]`];
  if (result.exitCode === null) return ['[Ended without an exit code]'];
  return result.exitCode === 0 ? [] : [`[Exit code: ${result.exitCode}]`];
}

function seconds(durationMs: number): string {
  return durationMs >= 10_000
    ? String(Math.round(durationMs / 1000))
    : String(Number((durationMs / 1000).toFixed(1)));
}

function leftOut(stream: 'stdout' | 'stderr', bytes: number, processId: string | undefined): string[] {
  if (bytes === 0) return [];
  const rest =
    processId === undefined
      ? 'write it to a file and read that in parts'
      : `read the rest with the journal of process ${processId}`;
  return [`[Output truncated: ${bytes.toLocaleString('en-US')} bytes of ${stream} left out; ${rest}]`];
}

/** Keeps the start up to the limit, never half a character. */
function shorten(text: string, limitBytes: number): { text: string; cutBytes: number } {
  const bytes = Buffer.from(text);
  if (bytes.length <= limitBytes) return { text, cutBytes: 0 };
  let end = Math.max(0, limitBytes);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return { text: bytes.toString('utf8', 0, end), cutBytes: bytes.length - end };
}

function withoutLastBreak(text: string): string {
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}
