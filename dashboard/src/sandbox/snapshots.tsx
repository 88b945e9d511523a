import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Change } from '../../../src/seams/snapshots.ts';
import { client } from '../api.ts';
import { goTo } from '../route.ts';
import { bytesText, nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { ActionButton } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Modal } from '../ui/modal.tsx';
import { Answer } from '../ui/query.tsx';
import { DiffText } from './diff-text.tsx';

const mostChanges = 500;

export function Snapshots({ chat }: { readonly chat: string }) {
  const { snapshots } = client.sandboxes.of(chat);
  const [compared, setCompared] = useState<string>();
  const [forked, setForked] = useState<string>();
  const list = useQuery({
    queryKey: ['sandbox', chat, 'snapshots'],
    queryFn: () => snapshots.list(),
    // No event says that one was taken.
    staleTime: 0,
  });
  return (
    <div className="flex flex-col gap-4">
      <div className="card">
        <ActionForm
          submit={text.snapshots.take}
          act={({ name = '' }) => snapshots.take(name === '' ? {} : { name })}
        >
          <TextField label={text.snapshots.name} name="name" maxLength={64} />
        </ActionForm>
      </div>
      <Answer of={list}>
        {({ snapshots: all }) =>
          all.length === 0 ? (
            <Empty>{text.snapshots.none}</Empty>
          ) : (
            <ul className="flex flex-col gap-2">
              {all.toReversed().map(({ name, kind, takenAt, files, bytes }) => (
                <li key={name} className="card flex flex-wrap items-center gap-2">
                  <strong className="break-all">{nameText(name)}</strong>
                  {kind === 'undo' && <Badge>{text.snapshots.undo}</Badge>}
                  <span className="text-faint">
                    {timeText(takenAt)}, {files} {text.snapshots.files}, {bytesText(bytes)}
                  </span>
                  <span className="flex-1" />
                  <button type="button" className="button" onClick={() => setCompared(name)}>
                    {text.snapshots.diff}
                  </button>
                  <ActionButton ask={text.snapshots.restoreAsk} act={() => snapshots.restore(name)}>
                    {text.snapshots.restore}
                  </ActionButton>
                  <button type="button" className="button" onClick={() => setForked(name)}>
                    {text.snapshots.fork}
                  </button>
                  <ActionButton
                    kind="button-bad"
                    ask={`${text.actions.remove}?`}
                    act={() => snapshots.remove(name)}
                  >
                    {text.actions.remove}
                  </ActionButton>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      {compared !== undefined && <Changes chat={chat} from={compared} />}
      {forked !== undefined && (
        <Modal title={text.snapshots.fork} onClose={() => setForked(undefined)}>
          <ActionForm
            submit={text.snapshots.fork}
            act={async ({ to = '' }) => {
              await client.sandboxes.fork(chat, to, { snapshot: forked });
              setForked(undefined);
              goTo('sandboxes', to);
            }}
          >
            <TextField label={text.snapshots.forkName} name="to" required />
          </ActionForm>
        </Modal>
      )}
    </div>
  );
}

function Changes({ chat, from }: { readonly chat: string; readonly from: string }) {
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
  });
  return (
    <Card title={`${text.snapshots.diff}: ${nameText(from)}`}>
      <Answer of={changes}>
        {(all) =>
          all.length === 0 ? (
            <Empty>{text.snapshots.same}</Empty>
          ) : (
            <ul>
              {all.map((change) => (
                <li key={`${change.change} ${change.path}`} className="flex items-center gap-2 py-0.5">
                  <Badge>{change.change}</Badge>
                  <button
                    type="button"
                    className="min-w-0 truncate text-accent"
                    onClick={() => setShown(change)}
                  >
                    {nameText(change.path)}
                  </button>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      {shown !== undefined && <OneChange chat={chat} from={from} change={shown} />}
    </Card>
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
  });
  return <Answer of={diff}>{(found) => <DiffText diff={found} />}</Answer>;
}
