import { Redactor } from '../journals/redactor.ts';
import type { RunEvent } from '../seams/run.ts';

/**
 * Removes secret values from the output of one run; key-shaped text stays. The end of a piece is held back while it may
 * be the start of a secret, at most until the next event.
 */
export class RedactedEvents {
  readonly #streams: Readonly<Record<'stdout' | 'stderr', Redactor>>;
  #isCompiling = false;

  constructor(values: readonly string[]) {
    this.#streams = { stdout: new Redactor(values, 'values'), stderr: new Redactor(values, 'values') };
  }

  /** The events to show now, in place of this one. */
  push(event: RunEvent): readonly RunEvent[] {
    const stream = event.type === 'compile-output' ? event.stream : event.type;
    if ('bytes' in event && (stream === 'stdout' || stream === 'stderr')) {
      this.#isCompiling = event.type === 'compile-output';
      return this.#shown(stream, this.#streams[stream].push(event.bytes, 0));
    }
    const held = (['stdout', 'stderr'] as const).flatMap((each) =>
      this.#shown(each, this.#streams[each].flush()),
    );
    return [...held, event];
  }

  #shown(stream: 'stdout' | 'stderr', pieces: readonly { readonly bytes: Uint8Array }[]): RunEvent[] {
    return pieces.map(({ bytes }) =>
      this.#isCompiling ? { type: 'compile-output', stream, bytes } : { type: stream, bytes },
    );
  }
}
