import { ContextList } from '../contexts/context-list.tsx';
import { Notebook } from '../contexts/notebook.tsx';
import { pathTo } from '../route.ts';
import { RunOnce } from '../runs/run-once.tsx';
import { text } from '../text.ts';

interface Shown {
  readonly tab: string | undefined;
  readonly id: string | undefined;
}

export function RunsPage({ tab, id }: Shown) {
  const isContexts = tab === 'contexts';
  const link = (isCurrent: boolean, path: string, name: string) => (
    <a
      href={`#${path}`}
      aria-current={isCurrent ? 'page' : undefined}
      className={`px-3 py-1.5 text-ink no-underline ${isCurrent ? 'border-b-2 border-accent font-semibold' : ''}`}
    >
      {name}
    </a>
  );
  return (
    <div className="flex flex-col gap-4">
      <h1>{text.runs.title}</h1>
      <nav aria-label={text.runs.title} className="flex gap-1 border-b border-line">
        {link(!isContexts, pathTo('runs'), text.runs.once)}
        {link(isContexts, pathTo('runs', 'contexts'), text.contexts.title)}
      </nav>
      {!isContexts && <RunOnce past={tab === 'past' ? id : undefined} />}
      {isContexts && id !== undefined && <Notebook id={id} />}
      {isContexts && <ContextList />}
    </div>
  );
}
