import { randomBytes } from 'node:crypto';
import { type Cancel, throwIfCancelled } from '../../base/cancel.ts';
import { GeodeError, isGeodeError, reasonOf } from '../../base/errors.ts';
import { type Log, noLog } from '../../base/log.ts';
import { Notifier } from '../../base/notifier.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { type BindingSpec, reachesNothing } from '../../seams/egress.ts';
import type { PersistentSandbox, Sandboxes, UserSandboxes } from '../../seams/persistent.ts';
import type { ReplayEvent, ReplayOptions, Replays } from '../../seams/replay.ts';
import { recordedHost, type TapedCall, type Tapes } from '../../seams/tapes.ts';
import type { AgentDriver } from '../driver.ts';
import type { TurnRecording } from '../transcript.ts';
import type { CallTable } from './call-table.ts';
import { runReplay } from './run-replay.ts';
import { tapeOf } from './tape-of-turn.ts';
import { findTurn, listedTurn, messageOf, problemOf, type TurnRecord, turnRecords } from './turn-records.ts';

export interface ReplaysOptions {
  readonly ledger: Ledger;
  readonly sandboxes: Sandboxes;
  readonly drivers: readonly AgentDriver[];
  /** Timeout of one replay, as of a turn. */
  readonly turnTimeoutMs: number;
  readonly calls: CallTable;
  readonly tapes: Tapes;
  /** Values that events must not show. */
  readonly secrets: readonly string[];
  readonly log?: Log;
}

/** The label of copies that exist only for a replay. */
const copyLabel = 'geode.replay';

/** Removes the copies that a killed host left. */
export function openReplays(options: ReplaysOptions): Replays {
  const { sandboxes, log = noLog } = options;
  const ending = new AbortController();
  const running = new Set<Promise<unknown>>();
  const tracked = <T>(work: Promise<T>): Promise<T> => {
    running.add(work);
    return work.finally(() => running.delete(work));
  };
  const cleaning = removeLeft(sandboxes, ending.signal).catch((error) =>
    log.warn({ err: error }, 'copies of an earlier replay could not be removed'),
  );
  void tracked(cleaning);
  return {
    of: (user) => ({
      turns: (chat) => {
        const records = turnRecords(options.ledger, user, chat);
        if (records.length > 0) return records.map(listedTurn);
        throw new GeodeError('agent_not_found', `The chat ${JSON.stringify(chat)} has no ended turn.`);
      },
      replay: (chat, turn, { signal, ...asked } = {}) =>
        replayTurn(options, { user, chat, turn, asked, ending: ending.signal, signal, tracked }),
    }),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await Promise.allSettled(running);
    },
  };
}

interface Asked extends Cancel {
  readonly user: string;
  readonly chat: string;
  readonly turn: string;
  readonly asked: Omit<ReplayOptions, 'signal'>;
  readonly ending: AbortSignal;
  tracked<T>(work: Promise<T>): Promise<T>;
}

async function* replayTurn(options: ReplaysOptions, asked: Asked): AsyncGenerator<ReplayEvent> {
  const { user, chat, turn, signal, ending, tracked } = asked;
  throwIfCancelled(signal, 'The replay');
  const record = findTurn(options.ledger, user, chat, turn);
  const given = usable(record, asked, options);
  const left = new AbortController();
  const timeout = AbortSignal.timeout(options.turnTimeoutMs);
  const stop = AbortSignal.any([left.signal, ending, timeout, ...(signal === undefined ? [] : [signal])]);
  const events: ReplayEvent[] = [];
  const more = new Notifier();
  let end: { readonly error?: unknown } | undefined;
  const note = (event: ReplayEvent) => {
    events.push(event);
    more.notify();
  };
  const work = inCopy(options.sandboxes.of(user), { ...given, stop, note }).then(
    () => {
      end = {};
    },
    (error) => {
      end = { error };
    },
  );
  void tracked(work.then(() => more.notify()));
  try {
    for (;;) {
      for (let event = events.shift(); event !== undefined; event = events.shift()) yield event;
      if (end !== undefined) break;
      await more.next();
    }
    if (end.error === undefined) return;
    if (timeout.aborted && !signal?.aborted && !ending.aborted)
      throw new GeodeError('timed_out', `The replay took longer than ${options.turnTimeoutMs} ms.`, {
        hint: 'Raise `agents.turn_timeout`, which is the timeout of a turn and of a replay.',
        cause: end.error,
      });
    throw end.error;
  } finally {
    left.abort();
    await work;
  }
}

interface Usable {
  readonly user: string;
  readonly chat: string;
  readonly record: TurnRecord;
  readonly recording: TurnRecording;
  readonly before: string;
  readonly driver: AgentDriver & { readonly replay: NonNullable<AgentDriver['replay']> };
  readonly model: string | null;
  readonly keep: boolean;
  readonly secrets: readonly string[];
  /** The recorded calls, which answer in the copy. */
  readonly calls: readonly TapedCall[];
  readonly tapes: Tapes;
}

/** Everything that can be refused is checked before a copy is made. */
function usable(record: TurnRecord, { user, chat, asked }: Asked, options: ReplaysOptions): Usable {
  const { recording } = record;
  const problem = problemOf(record);
  if (problem !== null || typeof recording === 'string' || recording.before === null)
    throw notRecorded(record, problem ?? 'its recording is not complete');
  const driver = options.drivers.find(({ name }) => name === record.driver);
  if (driver === undefined)
    throw new GeodeError('agent_unavailable', `This host has no agent ${record.driver} any more.`, {
      hint: `The turn needs it. Add it to the config again, or choose a turn of another agent.`,
    });
  const { replay } = driver;
  if (replay === undefined)
    throw notRecorded(record, `turns of the agent ${record.driver} are not recorded completely`);
  const { model = null, keep = false } = asked;
  replay.check(model);
  const { secrets, tapes } = options;
  const calls = model === null ? recordedCallsOf(record, recording, replay.needsCalls, options.calls) : [];
  return {
    ...{ calls, tapes },
    ...{ user, chat, record, recording, before: recording.before, model, keep, secrets },
    driver: { ...driver, replay },
  };
}

/** A program in the sandbox needs every answer of its model; commands may miss one. */
function recordedCallsOf(
  record: TurnRecord,
  { calls, isPartial }: TurnRecording,
  needsAll: boolean,
  table: CallTable,
): readonly TapedCall[] {
  const stored = table.of(record.turn);
  if (!needsAll) return stored;
  if (isPartial) throw notRecorded(record, 'its calls to the model were recorded in part only');
  if (calls === 0) throw notRecorded(record, 'its calls to the model were not recorded');
  if (stored.length < calls)
    throw notRecorded(
      record,
      'its calls to the model were collected; only those of the latest turns are kept',
    );
  return stored;
}

function notRecorded({ turn }: TurnRecord, why: string, cause?: unknown): GeodeError {
  return new GeodeError('turn_not_recorded', `The turn ${turn} cannot be played again: ${why}.`, { cause });
}

interface InCopy extends Usable {
  readonly stop: AbortSignal;
  note(event: ReplayEvent): void;
}

/** Makes the sealed copy, plays the turn in it, and removes the copy. */
async function inCopy(own: UserSandboxes, given: InCopy): Promise<void> {
  const { chat, record, before, driver, model, keep, stop, note } = given;
  const copyName = `replay-${randomBytes(6).toString('hex')}`;
  using _tape = given.tapes.insert(given.user, copyName, tapeOf(given.calls));
  let isKept = false;
  try {
    const source = await startSource(own, chat, record, stop);
    const copy = await fork(own, copyName, given);
    note({
      ...{ type: 'replay-start', turn: record.turn, driver: driver.name, startedAt: record.startedAt },
      ...{ model, copy: copyName, from: 'files' },
      message: messageOf(record),
    });
    const end = await runReplay({ ...given, source, copy, before });
    if (keep) {
      await own.label(copyName, {});
      isKept = true;
    }
    note({ ...end, kept: isKept ? copyName : null });
  } finally {
    if (!isKept) await own.remove(copyName);
  }
}

/** The source is needed for the files after the turn, which are compared with those of the replay. */
async function startSource(
  own: UserSandboxes,
  chat: string,
  record: TurnRecord,
  signal: AbortSignal,
): Promise<PersistentSandbox> {
  try {
    return await own.start(chat, { signal });
  } catch (error) {
    if (!isGeodeError(error, 'sandbox_not_found')) throw error;
    throw notRecorded(record, 'its sandbox was removed, and the files of the turn with it', error);
  }
}

async function fork(
  own: UserSandboxes,
  to: string,
  { chat, before, driver, model, record, calls, stop: signal }: InCopy,
): Promise<PersistentSandbox> {
  const bindings = model === null ? recordedBindings(calls) : driver.replay.bindings(model);
  const egress = { policy: reachesNothing.policy, bindings };
  const sealed = { labels: { [copyLabel]: record.turn }, egress };
  try {
    return await own.fork(chat, to, { snapshot: `turn:${before}`, sealed, signal });
  } catch (error) {
    if (!isGeodeError(error, 'snapshot_not_found') && !isGeodeError(error, 'snapshot_damaged')) throw error;
    const why = isGeodeError(error, 'snapshot_not_found')
      ? 'the files before it were collected; only those of the latest turns are kept'
      : `the files before it cannot be read (${reasonOf(error)})`;
    throw notRecorded(record, why, error);
  }
}

/** They lead to a host that no name server knows, so nothing is reached even without a tape. */
function recordedBindings(calls: readonly TapedCall[]): readonly BindingSpec[] {
  const bases = new Map(
    calls.flatMap(({ binding }) => (binding === null ? [] : [[binding.name, binding.base]])),
  );
  return [...bases].map(([name, base]) => ({
    ...{ name, upstream: `https://${recordedHost}${base}`, add: 'bearer' },
  }));
}

async function removeLeft(sandboxes: Sandboxes, signal: AbortSignal): Promise<void> {
  for (const { user, chat, labels } of await sandboxes.all({ signal })) {
    if (labels[copyLabel] === undefined || !chat.startsWith('replay-')) continue;
    await sandboxes.of(user).remove(chat, { signal });
  }
}
