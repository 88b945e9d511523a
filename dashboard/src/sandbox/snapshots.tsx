import { useQuery } from '@tanstack/react-query';
import { Camera, GitFork, MemoryStick, Undo2 } from 'lucide-react';
import { useState } from 'react';
import type { SandboxStatus } from '../../../src/seams/persistent.ts';
import { client } from '../api.ts';
import { useLive } from '../live.ts';
import { goTo } from '../route.ts';
import { bytesText, clockText, nameText, shortAgoText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card, EmptyPlace } from '../ui/card.tsx';
import { Command, shellWord } from '../ui/command.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';
import { ChangesSince } from './changes-since.tsx';
import { ForkDialog } from './fork-dialog.tsx';
import { useSavesMemory } from './use-saves-memory.ts';

type Snapshot = Awaited<
  ReturnType<ReturnType<typeof client.sandboxes.of>['snapshots']['list']>
>['snapshots'][number];
type Checkpoint = Awaited<ReturnType<typeof client.sandboxes.checkpoints.list>>['checkpoints'][number];

const kinds = ['all', 'kept', 'checkpoint', 'undo'] as const;

/** One moment of a sandbox, newest first in the list. */
type Moment =
  | {
      readonly kind: 'kept' | 'undo';
      readonly name: string;
      readonly at: number;
      readonly snapshot: Snapshot;
    }
  | {
      readonly kind: 'checkpoint';
      readonly name: string;
      readonly at: number;
      readonly checkpoint: Checkpoint;
    }
  | { readonly kind: 'fork'; readonly name: string; readonly at: number };

const icons = { kept: Camera, undo: Undo2, checkpoint: MemoryStick, fork: GitFork } as const;

/** The moments that one can go back to or continue from, and the copies that were made, newest first. */
export function Snapshots({ status }: { readonly status: SandboxStatus }) {
  const { chat } = status;
  const { snapshots } = client.sandboxes.of(chat);
  const [chosen, setChosen] = useState<string>();
  const [kind, setKind] = useState<(typeof kinds)[number]>('all');
  const { moments, list } = useMoments(status);
  const shown = moments.filter((each) => kind === 'all' || each.kind === kind);
  const found = moments.find((each) => keyOf(each) === chosen);
  const known = kinds.filter((each) => each === 'all' || moments.some((moment) => moment.kind === each));
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
        {known.length > 2 && (
          <fieldset className="segments" aria-label={text.snapshots.kinds.label}>
            {known.map((each) => (
              <button key={each} type="button" aria-pressed={each === kind} onClick={() => setKind(each)}>
                {each === 'checkpoint' ? text.acts.checkpointKind : text.snapshots.kinds[each]}
              </button>
            ))}
          </fieldset>
        )}
      </div>
      <div className={`grid gap-5 ${found === undefined ? '' : 'lg:grid-cols-[minmax(0,1fr)_24rem]'}`}>
        <div className="flex min-w-0 flex-col gap-3">
          <Answer of={list}>
            {() =>
              moments.length === 0 ? (
                <EmptyPlace
                  icon={Camera}
                  title={text.snapshots.noneTitle}
                  command={`geode sandbox snapshot ${shellWord(chat)}`}
                >
                  {text.snapshots.none}
                </EmptyPlace>
              ) : (
                <ol className="relative before:absolute before:top-4 before:bottom-4 before:left-[15px] before:w-0.5 before:bg-accent-text">
                  {shown.map((moment) => (
                    <li key={keyOf(moment)}>
                      <MomentRow
                        moment={moment}
                        isChosen={keyOf(moment) === chosen}
                        onChoose={() =>
                          moment.kind === 'fork'
                            ? goTo('sandboxes', moment.name)
                            : setChosen(keyOf(moment) === chosen ? undefined : keyOf(moment))
                        }
                      />
                    </li>
                  ))}
                </ol>
              )
            }
          </Answer>
        </div>
        {found !== undefined && found.kind !== 'fork' && (
          <div className="flex min-w-0 flex-col gap-3">
            {found.kind === 'checkpoint' ? (
              <OneCheckpoint
                key={chosen}
                chat={chat}
                checkpoint={found.checkpoint}
                onGone={() => setChosen(undefined)}
              />
            ) : (
              <OneSnapshot
                key={chosen}
                chat={chat}
                snapshot={found.snapshot}
                isNewestUndo={moments.find((each) => each.kind === 'undo') === found}
                onGone={() => setChosen(undefined)}
              />
            )}
          </div>
        )}
      </div>
    </>
  );
}

function keyOf({ kind, name }: Moment): string {
  return kind === 'kept' || kind === 'undo' ? `snapshot ${name}` : `${kind} ${name}`;
}

function useMoments(status: SandboxStatus) {
  const { chat, id } = status;
  const { events } = useLive();
  const list = useQuery({
    queryKey: ['sandbox', chat, 'snapshots'],
    queryFn: () => client.sandboxes.of(chat).snapshots.list(),
    // No event says that one was taken.
    staleTime: 0,
  });
  const savesMemory = useSavesMemory(status);
  const checkpoints = useQuery({
    queryKey: ['sandbox', chat, 'checkpoints'],
    queryFn: () => client.sandboxes.checkpoints.list(chat),
    enabled: savesMemory,
    staleTime: 0,
  });
  const moments: Moment[] = [
    ...(list.data?.snapshots ?? []).map((snapshot) => ({
      kind: snapshot.kind,
      name: snapshot.name,
      at: snapshot.takenAt,
      snapshot,
    })),
    ...(checkpoints.data?.checkpoints ?? []).map((checkpoint) => ({
      kind: 'checkpoint' as const,
      name: checkpoint.name,
      at: checkpoint.takenAt,
      checkpoint,
    })),
    ...events.flatMap((event) =>
      event.type === 'sandbox-fork' && event.from === id
        ? [{ kind: 'fork' as const, name: event.chat, at: event.at }]
        : [],
    ),
  ];
  return { list, moments: moments.sort((a, b) => b.at - a.at) };
}

interface MomentShown {
  readonly moment: Moment;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function MomentRow({ moment, isChosen, onChoose }: MomentShown) {
  const { kind, at } = moment;
  const Icon = icons[kind];
  const isSaved = kind === 'kept' || kind === 'checkpoint';
  return (
    <button
      type="button"
      aria-pressed={isChosen}
      className="relative flex w-full items-center gap-3 rounded-control py-2 pr-3 pl-2 text-left hover:bg-hover aria-pressed:bg-selected"
      onClick={onChoose}
    >
      <span
        aria-hidden
        className={`relative z-10 mx-0.5 size-3 shrink-0 border-2 border-accent-text ${isSaved ? 'bg-accent-text' : 'bg-canvas'} ${kind === 'checkpoint' ? 'rotate-45' : 'rounded-full'}`}
      />
      <Icon aria-hidden size={16} strokeWidth={1.75} className="shrink-0 text-muted" />
      <span className="min-w-0 flex-1">
        <span className="block truncate font-medium">{titleOf(moment)}</span>
        <span className="block text-sm text-faint">{kindText(moment)}</span>
      </span>
      {(moment.kind === 'kept' || moment.kind === 'undo') && (
        <>
          <span className="figures text-sm text-muted max-md:hidden">
            {moment.snapshot.files} {text.snapshots.files}
          </span>
          <span className="figures w-16 text-right text-sm text-muted">
            {bytesText(moment.snapshot.addedBytes)}
          </span>
        </>
      )}
      {moment.kind === 'checkpoint' && (
        <span className="figures w-16 text-right text-sm text-muted">
          {bytesText(moment.checkpoint.memoryBytes + moment.checkpoint.fileBytes)}
        </span>
      )}
      <span className="figures w-12 text-right text-sm text-faint" title={timeText(at)}>
        {isToday(at) ? clockText(at) : shortAgoText(at)}
      </span>
    </button>
  );
}

/** An undo point has only a number. */
function titleOf({ kind, name }: Moment): string {
  if (kind === 'fork') return text.acts.forkedTo(nameText(name));
  return kind === 'undo' && /^\d+$/.test(name) ? text.acts.beforeTurn(name) : nameText(name);
}

function kindText({ kind }: Moment): string {
  if (kind === 'fork') return text.acts.files;
  if (kind === 'checkpoint') return text.acts.checkpointKind;
  return kind === 'undo' ? text.snapshots.undoHow : text.snapshots.kept;
}

function isToday(at: number): boolean {
  return at >= new Date().setHours(0, 0, 0, 0);
}

interface Shown {
  readonly chat: string;
  readonly snapshot: Snapshot;
  readonly onGone: () => void;
}

/** A moment with processes and memory. */
function OneCheckpoint({
  chat,
  checkpoint: { name, takenAt, memoryBytes, fileBytes },
  onGone,
}: Omit<Shown, 'snapshot'> & { readonly checkpoint: Checkpoint }) {
  const [isForking, setForking] = useState(false);
  return (
    <>
      <Card title={nameText(name)}>
        <dl className="mb-3 grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
          <dt className="text-muted">{text.snapshots.taken}</dt>
          <dd>{timeText(takenAt)}</dd>
          <dt className="text-muted">{text.snapshots.holds}</dt>
          <dd className="figures">{text.acts.memory(bytesText(memoryBytes), bytesText(fileBytes))}</dd>
        </dl>
        <div className="flex flex-wrap gap-2">
          <button type="button" className="button button-main" onClick={() => setForking(true)}>
            <GitFork aria-hidden size={14} strokeWidth={1.75} />
            {text.acts.continueFrom}
          </button>
          <ActionButton
            ask={text.acts.removeCheckpoint}
            kind="button-bad"
            act={async () => {
              await client.sandboxes.checkpoints.remove(chat, name);
              onGone();
            }}
          >
            {text.actions.remove}
          </ActionButton>
        </div>
      </Card>
      <Command line={`geode sandbox fork --checkpoint "${nameText(name)}" ${nameText(chat)} copy`} />
      {isForking && <ForkDialog chat={chat} checkpoint={name} onClose={() => setForking(false)} />}
    </>
  );
}

/** One of them: its facts, what has changed since, and the ways back. Of the undo points, only the newest leads back. */
function OneSnapshot({ chat, snapshot, isNewestUndo, onGone }: Shown & { readonly isNewestUndo: boolean }) {
  const { name, kind, takenAt, files, bytes, addedBytes } = snapshot;
  const { snapshots } = client.sandboxes.of(chat);
  const [isForking, setForking] = useState(false);
  return (
    <>
      <Card title={kind === 'undo' ? text.acts.beforeTurn(name) : nameText(name)}>
        <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
          <dt className="text-muted">{text.snapshots.taken}</dt>
          <dd>{timeText(takenAt)}</dd>
          <dt className="text-muted">{text.snapshots.holds}</dt>
          <dd className="figures">{text.snapshots.size(files, bytesText(bytes), bytesText(addedBytes))}</dd>
        </dl>
        {isNewestUndo && (
          <div className="mt-3">
            <ActionButton
              kind="button-main"
              ask={text.chat.undoAsk}
              act={async () => {
                await snapshots.undo();
                onGone();
              }}
            >
              {text.chat.undo}
            </ActionButton>
          </div>
        )}
        {kind === 'kept' && (
          <div className="mt-3 flex flex-wrap gap-2">
            <button type="button" className="button button-main" onClick={() => setForking(true)}>
              <GitFork aria-hidden size={14} strokeWidth={1.75} />
              {text.snapshots.fork}
            </button>
            <ActionButton
              ask={text.snapshots.restoreAsk}
              kind="button-bad"
              act={() => snapshots.restore(name)}
            >
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
        )}
      </Card>
      <Card title={text.snapshots.diff}>
        <ChangesSince chat={chat} from={kind === 'undo' ? `undo:${name}` : name} />
      </Card>
      {kind === 'kept' && (
        <Command line={`geode sandbox fork --snapshot "${nameText(name)}" ${nameText(chat)} copy`} />
      )}
      {isForking && <ForkDialog chat={chat} snapshot={name} onClose={() => setForking(false)} />}
    </>
  );
}
