import { lazy, Suspense } from 'react';

const HighlightedCode = lazy(() => import('./heavy/highlighted-code.tsx'));

/** Code in its colours; until the part that colours it is there, as it is. */
export function Highlighted({ code, language }: { readonly code: string; readonly language: string }) {
  return (
    <Suspense fallback={<code>{code}</code>}>
      <HighlightedCode code={code} language={language} />
    </Suspense>
  );
}
