import type { ContextError, ContextEvent, ContextResult } from '../../../src/runs/contexts/result.ts';
import type { Rich } from '../../../src/runs/contexts/rich.ts';

export type Piece =
  | { readonly type: 'stdout' | 'stderr'; readonly text: string }
  | { readonly type: 'result'; readonly result: Rich }
  | { readonly type: 'error'; readonly error: ContextError };

/** One piece of code of a notebook, with all that it showed. */
export interface Cell {
  readonly code: string;
  readonly pieces: readonly Piece[];
  readonly status: ContextResult['status'] | 'running' | 'refused';
  readonly durationMs: number;
  readonly problem?: unknown;
}

const mostText = 200_000;

/** Text that follows text of the same stream is one piece; a cell that writes without end shows its beginning. */
export function withEvent(cell: Cell, event: ContextEvent): Cell {
  const last = cell.pieces.at(-1);
  if (event.type === 'stdout' || event.type === 'stderr') {
    if (last?.type !== event.type) return { ...cell, pieces: [...cell.pieces, event] };
    const piece = { type: event.type, text: (last.text + event.text).slice(0, mostText) };
    return { ...cell, pieces: [...cell.pieces.slice(0, -1), piece] };
  }
  return { ...cell, pieces: [...cell.pieces, event] };
}
