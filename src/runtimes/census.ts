import { type Cancel, within } from '../core/cancel.ts';
import { GeodeError } from '../core/errors.ts';
import type { Runtime, SandboxFacts } from '../core/runtime.ts';
import type { Vital } from '../link/watch.ts';
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
} from './rooms.ts';
import type { Walls } from './walls.ts';

const vitalDeadlineMs = 5_000;

/** Which rooms behind these walls there are, and how their sandboxes are. */
export interface Census extends Pick<Runtime, 'list' | 'traces'> {
  /** `sandbox_gone` for a room that is not there, or not behind these walls. */
  record(room: Room): Promise<RoomRecord>;
  vital(record: RoomRecord, options: Cancel): Promise<Vital>;
}

export function censusOf(walls: Walls, options: RuntimeOptions): Census {
  const vital = ({ id, handle }: RoomRecord, { signal }: Cancel): Promise<Vital> =>
    within({ ms: vitalDeadlineMs, what: `Asking for sandbox ${id}`, signal }, (stop) =>
      walls.vital(roomOf(options, id), handle, stop),
    );
  const factsOf = async (record: RoomRecord, cancel: Cancel): Promise<SandboxFacts> => {
    const { id, owner, grade, createdAt } = record;
    const state = await vital(record, cancel)
      .then((found) => stateOf(found, roomOf(options, id)))
      .catch(() => 'unknown' as const);
    return { id, owner, grade, createdAt, state };
  };
  return {
    vital,
    async record(room) {
      const record = await readRecord(room);
      if (record?.runtime === walls.name) return record;
      throw new GeodeError('sandbox_gone', `There is no ${walls.name} sandbox ${room.id} here.`);
    },
    async list({ ids, signal } = {}) {
      const records = await (ids === undefined ? allRecords(options) : recordsOf(options, ids));
      const own = records.filter(({ runtime }) => runtime === walls.name);
      return Promise.all(own.map((record) => factsOf(record, { signal })));
    },
    async traces() {
      const foreign = new Set(
        (await allRecords(options)).filter(({ runtime }) => runtime !== walls.name).map(({ id }) => id),
      );
      const ids = [...(await allRoomIds(options)), ...((await walls.traces?.()) ?? [])];
      return [...new Set(ids)].filter((id) => !foreign.has(id));
    },
  };
}

/** One that is held still goes on in a moment, or with its next host. */
async function stateOf(vital: Vital, room: Room): Promise<SandboxFacts['state']> {
  if (!vital.alive) return 'stopped';
  return vital.paused && (await pauseMarkOf(room).isSet()) ? 'paused' : 'running';
}
