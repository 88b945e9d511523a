import type { Duplex } from 'node:stream';
import { z } from 'zod';
import type { Cancel } from '../core/cancel.ts';
import type { Denial, Door, DoorSpec, Hatch } from '../core/egress.ts';
import { GeodeError } from '../core/errors.ts';
import { followAnnouncements } from './announcements.ts';
import { ConnectionStream } from './connection-stream.ts';
import type { Link } from './link.ts';

/** Connections that are being picked up at once; a flood waits in the guest, which closes what waits too long. */
const mostPickingUp = 64;
const mostDenials = 200;

const doorSchema = z.object({
  name: z.string().max(64),
  port: z.number().int().min(0).max(65_535),
  path: z.string().max(4096),
});
const doorsSchema = z.object({ doors: z.array(doorSchema) });
const waitingSchema = z.object({ id: z.string().regex(/^\d{1,20}$/), door: z.string().max(64) });
const listSchema = z.object({ pending: z.array(waitingSchema).max(4096) });

/** The hatch of a guest, over its link. */
export class GuestHatch implements Hatch {
  readonly #link: Link;
  readonly #folder: string;
  readonly #denials: Denial[] = [];
  #serving: AbortController | undefined;

  /** The folder is in the sandbox: sockets are made there. */
  constructor(link: Link, folder: string) {
    this.#link = link;
    this.#folder = folder;
  }

  async open(doors: readonly DoorSpec[], cancel: Cancel = {}): Promise<readonly Door[]> {
    const body = {
      folder: this.#folder,
      doors: doors.map(({ name, port = 0, exact = false }) => ({ name, port, exact })),
    };
    const opened = await this.#link.call('POST', '/v1/hatch', doorsSchema, { body, quiet: true, ...cancel });
    return opened.doors.map(({ name, port, path }) => ({ name, port: port || null, path: path || null }));
  }

  async close(door: string, cancel: Cancel = {}): Promise<void> {
    const path = `/v1/hatch/doors/${encodeURIComponent(door)}`;
    await this.#link.call('DELETE', path, z.unknown(), { quiet: true, ...cancel });
  }

  serve(onConnection: (door: string, stream: Duplex) => void): Disposable {
    if (this.#serving !== undefined)
      throw new GeodeError('internal', 'The hatch of this sandbox is served already.');
    const serving = new AbortController();
    this.#serving = serving;
    const pickUp = this.#picker(onConnection, serving.signal);
    void followAnnouncements(this.#link, {
      signal: serving.signal,
      on: ({ type, id = '', door }) => {
        if (type === 'hatch-connection' && door !== undefined && /^\d{1,20}$/.test(id)) pickUp(id, door);
      },
      onGap: () => void this.#pending(pickUp),
    });
    return {
      [Symbol.dispose]: () => {
        serving.abort();
        if (this.#serving === serving) this.#serving = undefined;
      },
    };
  }

  note(denial: Denial): void {
    this.#denials.push(denial);
    if (this.#denials.length > mostDenials) this.#denials.shift();
  }

  denials(since: number): readonly Denial[] {
    return this.#denials.filter(({ at }) => at >= since);
  }

  async #pending(pickUp: (id: string, door: string) => void): Promise<void> {
    try {
      const { pending } = await this.#link.call('GET', '/v1/hatch', listSchema, { quiet: true });
      for (const { id, door } of pending) pickUp(id, door);
    } catch {
      // The link was lost again: the next beginning asks again.
    }
  }

  /** Each connection once, whether it was announced or found; a bounded number at a time. */
  #picker(onConnection: (door: string, stream: Duplex) => void, signal: AbortSignal) {
    const queue: { id: string; door: string }[] = [];
    const known = new Set<string>();
    let active = 0;
    const next = async () => {
      const waiting = queue.shift();
      if (waiting === undefined || signal.aborted) return;
      active += 1;
      try {
        onConnection(waiting.door, await this.#take(waiting.id, signal));
      } catch {
        // Whoever connected has given up, or the link is lost.
      } finally {
        active -= 1;
        known.delete(waiting.id);
        void next();
      }
    };
    return (id: string, door: string) => {
      if (known.has(id) || queue.length >= 4 * mostPickingUp) return;
      known.add(id);
      queue.push({ id, door });
      if (active < mostPickingUp) void next();
    };
  }

  async #take(id: string, signal: AbortSignal): Promise<Duplex> {
    const session = await this.#link.session({ signal });
    const stream = this.#link.stream(session, 'POST', `/v1/hatch/connections/${id}`, signal);
    try {
      await this.#link.answer(stream, { signal });
      return new ConnectionStream(stream);
    } catch (error) {
      stream.destroy();
      throw error;
    }
  }
}
