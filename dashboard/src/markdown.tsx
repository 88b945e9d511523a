import { lazy, Suspense } from 'react';
import { linesText } from './shown.ts';

const MarkdownView = lazy(() => import('./heavy/markdown-view.tsx'));

/** Text of people and models, laid out; until the part that does it is there, as it was written. */
export function Markdown({
  source,
  isGrowing = false,
}: {
  readonly source: string;
  /** More of it comes: only its last blocks are laid out again. */
  readonly isGrowing?: boolean;
}) {
  return (
    <Suspense fallback={<p className="break-words whitespace-pre-wrap">{linesText(source)}</p>}>
      <MarkdownView source={source} isGrowing={isGrowing} />
    </Suspense>
  );
}
