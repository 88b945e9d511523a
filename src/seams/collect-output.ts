import type { ExecResult, ExitFacts, ProcessEvent } from './process.ts';

type Kind = 'stdout' | 'stderr';

/** Folds the events of one process into its result. Stores at most the limit of each stream. */
export class OutputCollector {
  readonly #limit: number;
  readonly #kept: Record<Kind, Uint8Array[]> = { stdout: [], stderr: [] };
  readonly #stored: Record<Kind, number> = { stdout: 0, stderr: 0 };
  readonly #dropped: Record<Kind, number> = { stdout: 0, stderr: 0 };
  #exit: ExitFacts | undefined;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  add(event: ProcessEvent): void {
    if (event.type === 'exit') this.#exit = event;
    else if (event.type === 'output-lost') this.#dropped.stdout += event.length;
    else this.#keep(event.type, event.bytes);
  }

  /** Undefined until the exit is known. A result is never invented. */
  result(processId: string): ExecResult | undefined {
    if (this.#exit === undefined) return undefined;
    const { exitCode, signal, timedOut, oomKilled, durationMs } = this.#exit;
    const bytes = { stdout: Buffer.concat(this.#kept.stdout), stderr: Buffer.concat(this.#kept.stderr) };
    return {
      processId,
      exitCode,
      signal,
      timedOut,
      oomKilled,
      durationMs,
      bytes,
      stdout: bytes.stdout.toString('utf8'),
      stderr: bytes.stderr.toString('utf8'),
      truncated: this.#dropped.stdout + this.#dropped.stderr > 0,
      dropped: this.#dropped,
    };
  }

  #keep(kind: Kind, bytes: Uint8Array): void {
    const room = Math.max(this.#limit - this.#stored[kind], 0);
    const kept = bytes.subarray(0, room);
    if (kept.length > 0) this.#kept[kind].push(kept);
    this.#stored[kind] += kept.length;
    this.#dropped[kind] += bytes.length - kept.length;
  }
}
