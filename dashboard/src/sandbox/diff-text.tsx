import { plainText } from '../shown.ts';

/** A unified diff; what was added and removed is said by the signs, and by colour too. */
export function DiffText({ diff }: { readonly diff: string }) {
  const lines = plainText(diff).split('\n');
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reached by keyboard.
    <pre className="output mt-2" tabIndex={0}>
      {lines.map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one diff do not move.
        <div key={at} className={line.startsWith('+') ? 'text-good' : line.startsWith('-') ? 'text-bad' : ''}>
          {line === '' ? ' ' : line}
        </div>
      ))}
    </pre>
  );
}
