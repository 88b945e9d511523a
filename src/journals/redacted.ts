import type { ExecResult } from '../seams/process.ts';
import type { RecordedEvent } from './journal-events.ts';
import { Redactor } from './redactor.ts';

/**
 * The events of a process, redacted as they arrive. Each stream is checked separately, so an event of one stream may
 * come a little late; its offset shows its position.
 */
export async function* redacted(
  events: AsyncIterable<RecordedEvent>,
  secrets: Iterable<string>,
): AsyncGenerator<RecordedEvent> {
  const redactor = new EventRedactor(secrets);
  for await (const event of events) yield* redactor.push(event);
  yield* redactor.flush();
}

/** Redacts a complete text. */
export function redactedText(text: string, secrets: Iterable<string>): string {
  const redactor = new Redactor(secrets);
  const pieces = [...redactor.push(Buffer.from(text), 0), ...redactor.flush()];
  return Buffer.concat(pieces.map(({ bytes }) => bytes)).toString();
}

/** The result of a command without these values; key-shaped text stays. */
export function withoutValues(result: ExecResult, values: readonly string[]): ExecResult {
  if (values.length === 0) return result;
  const bytes = {
    stdout: bytesWithout(result.bytes.stdout, values),
    stderr: bytesWithout(result.bytes.stderr, values),
  };
  const [stdout, stderr] = [Buffer.from(bytes.stdout).toString(), Buffer.from(bytes.stderr).toString()];
  return { ...result, bytes, stdout, stderr };
}

function bytesWithout(bytes: Uint8Array, values: readonly string[]): Uint8Array {
  const redactor = new Redactor(values, 'values');
  const pieces = [...redactor.push(bytes, 0), ...redactor.flush()];
  return Buffer.concat(pieces.map((piece) => piece.bytes));
}

/** Where output is lost, and at the end, held-back output is released. */
export class EventRedactor {
  readonly #streams: { readonly stdout: Redactor; readonly stderr: Redactor };
  #time: { at?: number } = {};

  constructor(secrets: Iterable<string>) {
    const values = [...secrets];
    this.#streams = { stdout: new Redactor(values), stderr: new Redactor(values) };
  }

  push(event: RecordedEvent): RecordedEvent[] {
    if (event.at !== undefined) this.#time = { at: event.at };
    if (!('bytes' in event)) return [...this.flush(), event];
    return this.#streams[event.type]
      .push(event.bytes, event.offset)
      .map((piece) => ({ type: event.type, ...piece, ...this.#time }));
  }

  flush(): RecordedEvent[] {
    return (['stdout', 'stderr'] as const).flatMap((type) =>
      this.#streams[type].flush().map((piece) => ({ type, ...piece, ...this.#time })),
    );
  }
}
