import type { ContextCell } from '../../../src/runs/contexts/cells.ts';
import type { ContextEvent } from '../../../src/runs/contexts/result.ts';

const mostText = 200_000;

/** Text that follows text of the same stream is one piece; a cell that writes without end shows its beginning. */
export function withEvent(cell: ContextCell, event: ContextEvent): ContextCell {
  const last = cell.pieces.at(-1);
  if (event.type === 'stdout' || event.type === 'stderr') {
    if (last?.type !== event.type) return { ...cell, pieces: [...cell.pieces, event] };
    const piece = { type: event.type, text: (last.text + event.text).slice(0, mostText) };
    return { ...cell, pieces: [...cell.pieces.slice(0, -1), piece] };
  }
  return { ...cell, pieces: [...cell.pieces, event] };
}
