import { type Cancel, within } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { Liveness } from '../link/watch.ts';
import type { Runtime, SandboxFacts } from '../seams/runtime.ts';
import type { RuntimeOptions } from './options.ts';
import { pauseMarkOf } from './pause-mark.ts';
import {
  allRecords,
  allRoomIds,
  type Room,
  type RoomRecord,
  readRecord,
  recordsOf,
  roomOf,
  roomOfRecord,
} from './rooms.ts';
import type { Walls } from './walls.ts';

const vitalDeadlineMs = 5_000;

/** Lists the rooms of one kind of walls, with the state of their sandboxes. */
export interface RoomList extends Pick<Runtime, 'recorded' | 'list' | 'traces'> {
  /** Throws `sandbox_gone` for a room that does not exist or has other walls. */
  find(id: string): Promise<{ readonly room: Room; readonly record: RoomRecord }>;
  liveness(record: RoomRecord, options: Cancel): Promise<Liveness>;
}

export function roomListOf(walls: Walls, options: RuntimeOptions): RoomList {
  const liveness = (record: RoomRecord, { signal }: Cancel): Promise<Liveness> =>
    within({ ms: vitalDeadlineMs, what: `Asking for sandbox ${record.id}`, signal }, (stop) =>
      walls.liveness(roomOfRecord(options, record), record.handle, stop),
    );
  const isOwn = ({ runtime }: RoomRecord) => runtime === walls.name;
  const factsOf = async (record: RoomRecord, cancel: Cancel): Promise<SandboxFacts> => {
    const { id, owner, grade, createdAt } = record;
    const state = await liveness(record, cancel)
      .then((found) => stateOf(found, record, roomOf(options, id)))
      .catch(() => 'unknown' as const);
    return { id, owner, grade, createdAt, state };
  };
  return {
    liveness,
    async find(id) {
      const record = await readRecord(roomOf(options, id));
      if (record?.runtime === walls.name) return { room: roomOfRecord(options, record), record };
      throw new GeodeError('sandbox_gone', `There is no ${walls.name} sandbox ${id} here.`);
    },
    async recorded() {
      return (await allRecords(options)).filter(isOwn);
    },
    async list({ ids, signal } = {}) {
      const records = await (ids === undefined ? allRecords(options) : recordsOf(options, ids));
      const own = records.filter(isOwn);
      return Promise.all(own.map((record) => factsOf(record, { signal })));
    },
    async traces() {
      const foreign = new Set(
        (await allRecords(options)).filter((record) => !isOwn(record)).map(({ id }) => id),
      );
      const ids = [...(await allRoomIds(options)), ...((await walls.traces?.()) ?? [])];
      return [...new Set(ids)].filter((id) => !foreign.has(id));
    },
  };
}

/** A frozen sandbox continues soon, or with its next host. */
async function stateOf(
  liveness: Liveness,
  { hibernated }: RoomRecord,
  room: Room,
): Promise<SandboxFacts['state']> {
  if (!liveness.alive) return hibernated ? 'hibernated' : 'stopped';
  return liveness.paused && (await pauseMarkOf(room).isSet()) ? 'paused' : 'running';
}
