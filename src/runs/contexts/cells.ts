import type { ContextEvent, ContextResult } from './result.ts';
import { richBytes } from './rich.ts';

/** One piece of code that ran in a context, with its output. */
export interface ContextCell {
  /** Counts from 1. */
  readonly number: number;
  readonly code: string;
  /** `refused`: it did not run, or its outcome is unknown. */
  readonly status: ContextResult['status'] | 'running' | 'refused';
  readonly durationMs: number;
  readonly pieces: readonly ContextEvent[];
}

const mostCells = 200;
const mostBytes = 8 * 1024 ** 2;
const mostTextChars = 200_000;

/** The cells of one open context, so that a later reader or browser sees earlier output. */
export class ContextCells {
  #cells: { cell: ContextCell; bytes: number }[] = [];
  #count = 0;

  get all(): readonly ContextCell[] {
    return this.#cells.map(({ cell }) => cell);
  }

  /** Starts a cell; the result receives its output and its end. */
  begin(code: string) {
    this.#count += 1;
    const entry = {
      cell: { number: this.#count, code, status: 'running', durationMs: 0, pieces: [] } as ContextCell,
      bytes: code.length,
    };
    this.#cells.push(entry);
    return {
      add: (event: ContextEvent): void => {
        const pieces = withPiece(entry.cell.pieces, event);
        entry.cell = { ...entry.cell, pieces };
        entry.bytes += sizeOf(event);
        this.#forget();
      },
      end: (status: ContextCell['status'], durationMs: number): void => {
        entry.cell = { ...entry.cell, status, durationMs };
        this.#forget();
      },
    };
  }

  /** The oldest are dropped first; the newest stays, however large it is. */
  #forget(): void {
    let bytes = this.#cells.reduce((sum, cell) => sum + cell.bytes, 0);
    while (this.#cells.length > 1 && (this.#cells.length > mostCells || bytes > mostBytes))
      bytes -= this.#cells.shift()?.bytes ?? 0;
  }
}

/** Text that follows text of the same stream is joined; a cell with endless output keeps its start. */
function withPiece(pieces: readonly ContextEvent[], event: ContextEvent): readonly ContextEvent[] {
  const last = pieces.at(-1);
  if (event.type === 'result' || event.type === 'error' || last?.type !== event.type)
    return [...pieces, event];
  const text = (last.text + event.text).slice(0, mostTextChars);
  return [...pieces.slice(0, -1), { type: event.type, text }];
}

function sizeOf(event: ContextEvent): number {
  if (event.type === 'result') return richBytes(event.result);
  return event.type === 'error' ? event.error.traceback.length : event.text.length;
}
