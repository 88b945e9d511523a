import { ContextList } from '../contexts/context-list.tsx';
import { Notebook } from '../contexts/notebook.tsx';
import type { PlaceProps } from '../page.tsx';
import { RunOnce } from '../runs/run-once.tsx';

export function CodePage({ rest: [part, id] }: PlaceProps) {
  if (part !== 'notebooks') return <RunOnce past={id} />;
  return id === undefined ? <ContextList /> : <Notebook key={id} id={id} />;
}
