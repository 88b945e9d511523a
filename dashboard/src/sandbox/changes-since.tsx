import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Change } from '../../../src/seams/snapshots.ts';
import { client } from '../api.ts';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Answer } from '../ui/query.tsx';
import { DiffText } from './diff-text.tsx';

const mostChanges = 500;
const letters = { added: 'A', removed: 'D', modified: 'M', mode: 'R', type: 'T' } as const;
const colours = {
  added: 'text-good',
  removed: 'text-bad',
  modified: 'text-warn',
  mode: 'text-muted',
  type: 'text-muted',
};

/** The files that differ from a snapshot, each with its difference. */
export function ChangesSince({ chat, from }: { readonly chat: string; readonly from: string }) {
  const { snapshots } = client.sandboxes.of(chat);
  const [shown, setShown] = useState<Change>();
  const changes = useQuery({
    queryKey: ['sandbox', chat, 'snapshots', 'diff', from],
    queryFn: async ({ signal }) => {
      const found: Change[] = [];
      for await (const change of snapshots.diff(from, { signal })) {
        found.push(change);
        if (found.length >= mostChanges) break;
      }
      return found;
    },
    staleTime: 0,
  });
  return (
    <Answer of={changes}>
      {(all) =>
        all.length === 0 ? (
          <p className="text-muted">{text.snapshots.same}</p>
        ) : (
          <>
            <ul>
              {all.map((change) => (
                <li key={`${change.change} ${change.path}`} className="flex min-w-0 items-center gap-2">
                  <span
                    title={text.files.changes[change.change]}
                    className={`w-4 font-mono font-semibold ${colours[change.change]}`}
                  >
                    {letters[change.change]}
                    <span className="sr-only"> {text.files.changes[change.change]}</span>
                  </span>
                  <button
                    type="button"
                    aria-pressed={change === shown}
                    className="row-link min-w-0 flex-1 text-left aria-pressed:bg-selected"
                    onClick={() => setShown(change)}
                  >
                    <code className="min-w-0 truncate">{nameText(change.path)}</code>
                  </button>
                </li>
              ))}
            </ul>
            {shown !== undefined && <OneChange chat={chat} from={from} change={shown} />}
          </>
        )
      }
    </Answer>
  );
}

function OneChange({
  chat,
  from,
  change,
}: {
  readonly chat: string;
  readonly from: string;
  readonly change: Change;
}) {
  const diff = useQuery({
    queryKey: ['sandbox', chat, 'snapshots', 'diff', from, change.path],
    queryFn: () => client.sandboxes.of(chat).snapshots.textDiff(change, from),
    staleTime: 0,
  });
  return <Answer of={diff}>{(found) => <DiffText diff={found} />}</Answer>;
}
