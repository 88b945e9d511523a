import { type ComponentProps, lazy, Suspense } from 'react';
import { text } from './text.ts';

const CodeEditor = lazy(() => import('./heavy/code-editor.tsx'));

/** The editor, which is fetched when it is first needed. */
export function Code(shown: ComponentProps<typeof CodeEditor>) {
  return (
    <Suspense fallback={<p>{text.loading}</p>}>
      <CodeEditor {...shown} />
    </Suspense>
  );
}
