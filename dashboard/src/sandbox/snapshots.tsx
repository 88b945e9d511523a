import { useQuery } from '@tanstack/react-query';
import { Camera, GitFork, Undo2 } from 'lucide-react';
import { useState } from 'react';
import { client } from '../api.ts';
import { goTo } from '../route.ts';
import { bytesText, clockText, nameText, shortAgoText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card, EmptyPlace } from '../ui/card.tsx';
import { Command } from '../ui/command.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Modal } from '../ui/modal.tsx';
import { Answer } from '../ui/query.tsx';
import { ChangesSince } from './changes-since.tsx';

const kinds = ['all', 'kept', 'undo'] as const;

/** The states of the workspace that can be gone back to, newest first. */
export function Snapshots({ chat }: { readonly chat: string }) {
  const { snapshots } = client.sandboxes.of(chat);
  const [chosen, setChosen] = useState<string>();
  const [kind, setKind] = useState<(typeof kinds)[number]>('all');
  const list = useQuery({
    queryKey: ['sandbox', chat, 'snapshots'],
    queryFn: () => snapshots.list(),
    // No event says that one was taken.
    staleTime: 0,
  });
  const all = (list.data?.snapshots ?? []).toReversed();
  const shown = all.filter((each) => kind === 'all' || each.kind === kind);
  const found = all.find(({ name }) => name === chosen);
  return (
    <>
      <div className="flex flex-wrap items-end justify-between gap-3">
        <ActionForm
          submit={text.snapshots.take}
          isRow
          act={({ name = '' }) => snapshots.take(name === '' ? {} : { name })}
        >
          <TextField label={text.snapshots.name} name="name" maxLength={64} />
        </ActionForm>
        {all.length > 0 && (
          <fieldset className="segments" aria-label={text.snapshots.kinds.label}>
            {kinds.map((each) => (
              <button key={each} type="button" aria-pressed={each === kind} onClick={() => setKind(each)}>
                {text.snapshots.kinds[each]}
              </button>
            ))}
          </fieldset>
        )}
      </div>
      <div className={`grid gap-5 ${found === undefined ? '' : 'lg:grid-cols-[minmax(0,1fr)_24rem]'}`}>
        <div className="flex min-w-0 flex-col gap-3">
          <Answer of={list}>
            {() =>
              all.length === 0 ? (
                <EmptyPlace
                  icon={Camera}
                  title={text.snapshots.noneTitle}
                  command={`geode snapshot take ${chat}`}
                >
                  {text.snapshots.none}
                </EmptyPlace>
              ) : (
                <ol className="relative before:absolute before:top-4 before:bottom-4 before:left-[15px] before:w-0.5 before:bg-accent-text">
                  {shown.map((each) => (
                    <li key={each.name}>
                      <button
                        type="button"
                        aria-pressed={each.name === chosen}
                        className="relative flex w-full items-center gap-3 rounded-control py-2 pr-3 pl-2 text-left hover:bg-hover aria-pressed:bg-selected"
                        onClick={() => setChosen(each.name === chosen ? undefined : each.name)}
                      >
                        <span
                          aria-hidden
                          className={`relative z-10 mx-0.5 size-3 shrink-0 rounded-full border-2 border-accent-text ${each.kind === 'undo' ? 'bg-canvas' : 'bg-accent-text'}`}
                        />
                        {each.kind === 'undo' ? (
                          <Undo2 aria-hidden size={16} strokeWidth={1.75} className="shrink-0 text-muted" />
                        ) : (
                          <Camera aria-hidden size={16} strokeWidth={1.75} className="shrink-0 text-muted" />
                        )}
                        <span className="min-w-0 flex-1">
                          <span className="block truncate font-medium">{nameText(each.name)}</span>
                          <span className="block text-sm text-faint">
                            {each.kind === 'undo' ? text.snapshots.undo : text.snapshots.kept}
                          </span>
                        </span>
                        <span className="figures text-sm text-muted max-md:hidden">
                          {each.files} {text.snapshots.files}
                        </span>
                        <span className="figures w-16 text-right text-sm text-muted">
                          {bytesText(each.addedBytes)}
                        </span>
                        <span
                          className="figures w-12 text-right text-sm text-faint"
                          title={timeText(each.takenAt)}
                        >
                          {isToday(each.takenAt) ? clockText(each.takenAt) : shortAgoText(each.takenAt)}
                        </span>
                      </button>
                    </li>
                  ))}
                </ol>
              )
            }
          </Answer>
        </div>
        {found !== undefined && (
          <div className="flex min-w-0 flex-col gap-3">
            <OneSnapshot key={found.name} chat={chat} snapshot={found} onGone={() => setChosen(undefined)} />
          </div>
        )}
      </div>
    </>
  );
}

function isToday(at: number): boolean {
  return at >= new Date().setHours(0, 0, 0, 0);
}

interface Shown {
  readonly chat: string;
  readonly snapshot: {
    readonly name: string;
    readonly takenAt: number;
    readonly files: number;
    readonly bytes: number;
    readonly addedBytes: number;
  };
  readonly onGone: () => void;
}

/** One of them: its facts, what has changed since, and the ways back. */
function OneSnapshot({ chat, snapshot: { name, takenAt, files, bytes, addedBytes }, onGone }: Shown) {
  const { snapshots } = client.sandboxes.of(chat);
  const [isForking, setForking] = useState(false);
  return (
    <>
      <Card title={nameText(name)}>
        <dl className="mb-3 grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
          <dt className="text-muted">{text.snapshots.taken}</dt>
          <dd>{timeText(takenAt)}</dd>
          <dt className="text-muted">{text.snapshots.holds}</dt>
          <dd className="figures">{text.snapshots.size(files, bytesText(bytes), bytesText(addedBytes))}</dd>
        </dl>
        <div className="flex flex-wrap gap-2">
          <button type="button" className="button button-main" onClick={() => setForking(true)}>
            <GitFork aria-hidden size={14} strokeWidth={1.75} />
            {text.snapshots.fork}
          </button>
          <ActionButton ask={text.snapshots.restoreAsk} kind="button-bad" act={() => snapshots.restore(name)}>
            {text.snapshots.restore}
          </ActionButton>
          <ActionButton
            ask={text.snapshots.removeAsk}
            kind="button-bad"
            act={async () => {
              await snapshots.remove(name);
              onGone();
            }}
          >
            {text.actions.remove}
          </ActionButton>
        </div>
      </Card>
      <Card title={text.snapshots.diff}>
        <ChangesSince chat={chat} from={name} />
      </Card>
      <Command line={`geode sandbox fork --snapshot "${nameText(name)}" ${nameText(chat)} copy`} />
      {isForking && (
        <Modal title={text.snapshots.fork} onClose={() => setForking(false)}>
          <ActionForm
            submit={text.snapshots.fork}
            act={async ({ to = '' }) => {
              await client.sandboxes.fork(chat, to, { snapshot: name });
              setForking(false);
              goTo('sandboxes', to);
            }}
          >
            <TextField label={text.snapshots.forkName} name="to" required />
          </ActionForm>
        </Modal>
      )}
    </>
  );
}
