import { plainText } from '../shown.ts';

export interface OutputPiece {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

/** The output of a program in its order; stderr stands out. */
export function OutputPieces({ pieces }: { readonly pieces: readonly OutputPiece[] }) {
  if (pieces.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reached by keyboard.
    <pre className="output" tabIndex={0}>
      {pieces.map(({ stream, text: piece }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces are only added.
        <span key={at} className={stream === 'stderr' ? 'text-bad' : ''}>
          {plainText(piece)}
        </span>
      ))}
    </pre>
  );
}
