import { lazy, Suspense } from 'react';
import { linesText } from './shown.ts';

const MarkdownView = lazy(() => import('./heavy/markdown-view.tsx'));

/** What people and models write, laid out; until the part that does it is there, as it was written. */
export function Markdown({ source }: { readonly source: string }) {
  return (
    <Suspense fallback={<p className="break-words whitespace-pre-wrap">{linesText(source)}</p>}>
      <MarkdownView source={source} />
    </Suspense>
  );
}
