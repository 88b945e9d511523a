import type { ContextCell } from '../../../src/runs/contexts/cells.ts';
import type { ContextEvent } from '../../../src/runs/contexts/result.ts';
import { Highlighted } from '../highlighted.tsx';
import { durationText, plainText } from '../shown.ts';
import { text } from '../text.ts';
import { RichResult } from './rich-result.tsx';

interface Shown {
  readonly cell: ContextCell;
  readonly language: string;
  readonly onEdit: () => void;
}

/** One cell that ran: its number, its code, its state and its output. */
export function CellView({ cell: { number, code, pieces, status, durationMs }, language, onEdit }: Shown) {
  const isGood = status === 'done' || status === 'running';
  return (
    <section aria-label={`${text.contexts.cell} ${number}`} className="flex gap-3">
      <span className="figures w-6 shrink-0 pt-2 text-right text-muted">{number}</span>
      <div className="flex min-w-0 flex-1 flex-col gap-2">
        <div className="rounded-card border border-line bg-surface">
          <div className="flex items-start gap-2 p-2.5">
            <pre className="min-w-0 flex-1 overflow-x-auto">
              <Highlighted code={plainText(code)} language={language} />
            </pre>
            <span className={`figures shrink-0 text-sm ${isGood ? 'text-faint' : 'text-bad'}`}>
              {text.contexts.states[status]}
              {status !== 'running' && ` ${durationText(durationMs)}`}
            </span>
            <button type="button" className="button button-small button-quiet" onClick={onEdit}>
              {text.contexts.again}
            </button>
          </div>
        </div>
        <div className="flex min-w-0 flex-col gap-2 pl-2.5">
          {pieces.map((piece, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: pieces are only added.
            <PieceView key={at} piece={piece} />
          ))}
        </div>
      </div>
    </section>
  );
}

function PieceView({ piece }: { readonly piece: ContextEvent }) {
  if (piece.type === 'result') return <RichResult rich={piece.result} />;
  if (piece.type === 'error')
    return <pre className="output text-bad">{plainText(piece.error.traceback)}</pre>;
  return <pre className={`output ${piece.type === 'stderr' ? 'text-bad' : ''}`}>{plainText(piece.text)}</pre>;
}
