import type { Duplex } from 'node:stream';
import { z } from 'zod';
import type { Cancel } from '../core/cancel.ts';
import { followAnnouncements } from './announcements.ts';
import { ConnectionStream } from './connection-stream.ts';
import type { Link } from './link.ts';

/** Connections that are being picked up at once; a flood waits in the guest, which closes what waits too long. */
const mostPickingUp = 64;

export const connectionId = z.string().regex(/^\d{1,20}$/);

/** A connection that waits in the guest; the door is where the guest says it came through. */
export interface Waiting {
  readonly id: string;
  readonly door: string;
}

export interface PickUpOptions extends Cancel {
  readonly signal: AbortSignal;
  /** The type of the guest's announcements. */
  readonly type: string;
  /** The folder of the calls that pick one up: `/v1/hatch/connections`. */
  readonly path: string;
  /** All that wait, asked for when announcements may have been missed. */
  readonly pending: () => Promise<readonly Waiting[]>;
  readonly onConnection: (door: string, stream: Duplex) => void;
}

/** Picks up every connection that programs in the sandbox make, each once, until the signal. */
export function pickUp(link: Link, options: PickUpOptions): void {
  const { type, signal, pending } = options;
  const take = picker(link, options);
  void followAnnouncements(link, {
    signal,
    on: ({ type: said, id = '', door = '' }) => {
      if (said === type && connectionId.safeParse(id).success) take({ id, door });
    },
    onGap: () => {
      // When the link is lost again, the next beginning asks again.
      pending().then(
        (waiting) => waiting.forEach(take),
        () => {},
      );
    },
  });
}

/** Each connection once, whether it was announced or found; a bounded number at a time. */
function picker(link: Link, { path, signal, onConnection }: PickUpOptions): (waiting: Waiting) => void {
  const queue: Waiting[] = [];
  const known = new Set<string>();
  let active = 0;
  const next = async () => {
    const waiting = queue.shift();
    if (waiting === undefined || signal.aborted) return;
    active += 1;
    try {
      onConnection(waiting.door, await connect(link, `${path}/${waiting.id}`, signal));
    } catch {
      // Whoever connected has given up, or the link is lost.
    } finally {
      active -= 1;
      known.delete(waiting.id);
      void next();
    }
  };
  return (waiting) => {
    if (known.has(waiting.id) || queue.length >= 4 * mostPickingUp) return;
    known.add(waiting.id);
    queue.push(waiting);
    if (active < mostPickingUp) void next();
  };
}

async function connect(link: Link, path: string, signal: AbortSignal): Promise<Duplex> {
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
