import type { Duplex } from 'node:stream';
import { z } from 'zod';
import type { Cancel } from '../base/cancel.ts';
import { followAnnouncements } from './announcements.ts';
import { ConnectionStream } from './connection-stream.ts';
import type { Link } from './link.ts';

/** Connections picked up at once. A flood waits in the guest, which closes connections that wait too long. */
const mostPickingUp = 64;

export const connectionId = z.string().regex(/^\d{1,20}$/);

/** A connection that waits in the guest; `door` is the door that the guest reports. */
export interface WaitingConnection {
  readonly id: string;
  readonly door: string;
}

export interface PickUpOptions extends Cancel {
  readonly signal: AbortSignal;
  /** The type of the guest's announcements. */
  readonly type: string;
  /** Receives notices that a program closed its sending side. */
  readonly endType?: string;
  /** The folder of the calls that pick one up: `/v1/hatch/connections`. */
  readonly path: string;
  /** All that wait, queried when announcements may have been missed. */
  readonly pending: () => Promise<readonly WaitingConnection[]>;
  readonly onConnection: (door: string, stream: Duplex) => void;
}

/** Picks up every connection of programs in the sandbox, each once, until the signal. */
export function pickUp(link: Link, options: PickUpOptions): void {
  const { type, endType, signal, pending } = options;
  const { take, end } = picker(link, options);
  void followAnnouncements(link, {
    signal,
    on: ({ type: announced, id = '', door = '', bytes = 0 }) => {
      if (!connectionId.safeParse(id).success) return;
      if (announced === type) take({ id, door });
      else if (announced === endType) end(id, bytes);
    },
    onGap: () => {
      // If the link is lost again, the next start asks again.
      pending().then(
        (waiting) => waiting.forEach(take),
        () => {},
      );
    },
  });
}

interface Picker {
  take(waiting: WaitingConnection): void;
  /** The program has sent this many bytes and closed its sending side. */
  end(id: string, bytes: number): void;
}

/** Each connection once, announced or found; a limited number at a time. */
function picker(link: Link, { path, signal, onConnection }: PickUpOptions): Picker {
  const queue: WaitingConnection[] = [];
  const known = new Set<string>();
  const open = new Map<string, ConnectionStream>();
  /** Ends that arrived before the answer to the call that picks the connection up. */
  const early = new Map<string, number>();
  let active = 0;
  const next = async () => {
    const waiting = queue.shift();
    if (waiting === undefined || signal.aborted) return;
    active += 1;
    try {
      const stream = await connect(link, `${path}/${waiting.id}`, signal);
      open.set(waiting.id, stream);
      stream.once('close', () => open.delete(waiting.id));
      const bytes = early.get(waiting.id);
      if (bytes !== undefined) stream.endAfter(bytes);
      onConnection(waiting.door, stream);
    } catch {
      // The program gave up, or the link was lost.
    } finally {
      active -= 1;
      known.delete(waiting.id);
      early.delete(waiting.id);
      void next();
    }
  };
  return {
    take(waiting) {
      if (known.has(waiting.id) || queue.length >= 4 * mostPickingUp) return;
      known.add(waiting.id);
      queue.push(waiting);
      if (active < mostPickingUp) void next();
    },
    end(id, bytes) {
      const stream = open.get(id);
      if (stream !== undefined) stream.endAfter(bytes);
      else if (known.has(id)) early.set(id, bytes);
    },
  };
}

async function connect(link: Link, path: string, signal: AbortSignal): Promise<ConnectionStream> {
  const session = await link.session({ signal });
  const stream = link.stream(session, 'POST', path, signal);
  try {
    await link.answer(stream, { signal });
    return new ConnectionStream(stream);
  } catch (error) {
    stream.destroy();
    throw error;
  }
}
