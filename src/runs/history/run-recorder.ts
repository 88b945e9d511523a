import { Redactor } from '../../journals/redactor.ts';
import type { RunEvent } from '../../seams/run.ts';
import { type ExitOf, outcomeOf } from '../../seams/run-result.ts';
import type { RunOutput, RunRecord, SandboxReady } from './run-record.ts';

/** Maximum characters of the code and the output to store. */
const mostCodeChars = 64 * 1024;
const mostOutputBytes = 64 * 1024;
const titleChars = 120;

function shownStream(secrets: readonly string[]) {
  return { redactor: new Redactor(secrets), decoder: new TextDecoder() };
}

/** Listens to one run and makes its record. */
export class RunRecorder {
  readonly #code: string | Uint8Array;
  readonly #secrets: readonly string[];
  readonly #streams: Readonly<Record<'stdout' | 'stderr', ReturnType<typeof shownStream>>>;
  readonly #output: RunOutput[] = [];
  readonly #artifacts: string[] = [];
  #denied: readonly string[] = [];
  #keptBytes = 0;
  #droppedBytes = 0;
  #ready: { readonly event: SandboxReady; readonly at: number; readonly startMs: number } | undefined;
  #compile: ExitOf | null = null;
  #exit: ExitOf | null = null;

  constructor(code: string | Uint8Array, secrets: readonly string[]) {
    this.#code = code;
    this.#secrets = secrets;
    this.#streams = { stdout: shownStream(secrets), stderr: shownStream(secrets) };
  }

  add(event: RunEvent): void {
    if (event.type === 'sandbox-ready') this.#ready = { event, at: Date.now(), startMs: performance.now() };
    else if (event.type === 'stdout' || event.type === 'stderr') this.#write(event.type, event.bytes);
    else if (event.type === 'compile-output') this.#write(event.stream, event.bytes);
    else if (event.type === 'compile-exit') this.#compile = event;
    else if (event.type === 'exit') this.#exit = event;
    else if (event.type === 'artifact') this.#artifacts.push(event.path);
    else if (event.type === 'egress-denied')
      this.#denied = [...new Set(event.denied.map(({ host, port }) => `${host}:${port}`))];
  }

  /** Undefined if it never got a sandbox. */
  record(): RunRecord | undefined {
    if (this.#ready === undefined) return undefined;
    const { event, at, startMs } = this.#ready;
    for (const stream of ['stdout', 'stderr'] as const)
      for (const { bytes } of this.#streams[stream].redactor.flush()) this.#add(stream, bytes);
    const exit = this.#exit ?? this.#compile;
    const code = this.#shownCode();
    return {
      id: event.sandbox.id,
      at,
      language: event.language,
      outcome: exit === null ? 'stopped' : outcomeOf(exit, this.#compile),
      exitCode: exit?.exitCode ?? null,
      signal: exit?.signal ?? null,
      durationMs: Math.round(performance.now() - startMs),
      runtime: event.sandbox.runtime,
      grade: event.sandbox.grade,
      title: code.trimStart().split('\n', 1)[0]?.slice(0, titleChars) ?? '',
      code,
      output: this.#output,
      droppedBytes: this.#droppedBytes,
      artifacts: this.#artifacts,
      denied: this.#denied,
    };
  }

  #shownCode(): string {
    const bytes = typeof this.#code === 'string' ? Buffer.from(this.#code) : this.#code;
    const redactor = new Redactor(this.#secrets);
    const pieces = [...redactor.push(bytes.subarray(0, mostCodeChars), 0), ...redactor.flush()];
    return Buffer.concat(pieces.map((piece) => piece.bytes)).toString();
  }

  #write(stream: 'stdout' | 'stderr', bytes: Uint8Array): void {
    const room = mostOutputBytes - this.#keptBytes;
    this.#keptBytes += Math.min(room, bytes.length);
    this.#droppedBytes += Math.max(0, bytes.length - room);
    if (room <= 0) return;
    for (const shown of this.#streams[stream].redactor.push(bytes.subarray(0, room), 0))
      this.#add(stream, shown.bytes);
  }

  /** Text that follows text of the same stream is joined. */
  #add(stream: 'stdout' | 'stderr', bytes: Uint8Array): void {
    const text = this.#streams[stream].decoder.decode(bytes, { stream: true });
    const last = this.#output.at(-1);
    if (last?.stream === stream) this.#output[this.#output.length - 1] = { stream, text: last.text + text };
    else this.#output.push({ stream, text });
  }
}
