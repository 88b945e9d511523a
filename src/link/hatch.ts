import type { Duplex } from 'node:stream';
import { z } from 'zod';
import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { Denial, Hatch, HatchDoor, HatchDoorSpec } from '../seams/egress.ts';
import type { Link } from './link.ts';
import { connectionId, pickUp, type WaitingConnection } from './pick-up.ts';

const mostDenials = 200;
const mostUnserved = 64;

type OnConnection = (door: string, stream: Duplex) => void;

const doorSchema = z.object({
  name: z.string().max(64),
  port: z.number().int().min(0).max(65_535),
  path: z.string().max(4096),
});
const doorsSchema = z.object({ doors: z.array(doorSchema) });
const trustSchema = z.object({ path: z.string().max(4096) });
const waitingSchema = z.object({ id: connectionId, door: z.string().max(64) });
const listSchema = z.object({ pending: z.array(waitingSchema).max(4096) });

/** The hatch of a guest, over its link. */
export class GuestHatch implements Hatch {
  readonly #link: Link;
  readonly #folder: string;
  readonly #denials: Denial[] = [];
  /** Doors stay in the guest until they are closed, also while the link is lost. */
  readonly #doors = new Map<string, HatchDoor>();
  #following: AbortController | undefined;
  #onConnection: OnConnection | undefined;
  /** Connections that were accepted before a server was set. */
  readonly #unserved: Parameters<OnConnection>[] = [];

  /** The folder for sockets, inside the sandbox. */
  constructor(link: Link, folder: string) {
    this.#link = link;
    this.#folder = folder;
  }

  async open(doors: readonly HatchDoorSpec[], cancel: Cancel = {}): Promise<readonly HatchDoor[]> {
    const known = doors.flatMap(({ name }) => this.#doors.get(name) ?? []);
    if (known.length === doors.length) return known;
    const body = {
      folder: this.#folder,
      doors: doors.map(({ name, port = 0, exact = false }) => ({ name, port, exact })),
    };
    const opened = await this.#link.call('POST', '/v1/hatch', doorsSchema, { body, quiet: true, ...cancel });
    const asked = new Set(doors.map(({ name }) => name));
    const made = opened.doors.map(({ name, port, path }) => ({
      name,
      port: port || null,
      path: path || null,
    }));
    this.#follow();
    for (const door of made) if (asked.has(door.name)) this.#doors.set(door.name, door);
    return made;
  }

  async trust(authority: string, roots: string, cancel: Cancel = {}): Promise<string> {
    const body = { folder: this.#folder, authority, roots };
    const { path } = await this.#link.call('PUT', '/v1/hatch/trust', trustSchema, {
      body,
      quiet: true,
      ...cancel,
    });
    return path;
  }

  async close(door: string, cancel: Cancel = {}): Promise<void> {
    this.#doors.delete(door);
    const path = `/v1/hatch/doors/${encodeURIComponent(door)}`;
    await this.#link.call('DELETE', path, z.unknown(), { quiet: true, ...cancel });
  }

  serve(onConnection: OnConnection): Disposable {
    if (this.#onConnection !== undefined)
      throw new GeodeError('internal', 'The hatch of this sandbox is already served.');
    this.#onConnection = onConnection;
    this.#follow();
    for (const [door, stream] of this.#unserved.splice(0)) onConnection(door, stream);
    return {
      [Symbol.dispose]: () => {
        if (this.#onConnection !== onConnection) return;
        this.#onConnection = undefined;
        this.#following?.abort();
        this.#following = undefined;
      },
    };
  }

  /** Begins with the first door, so that serving a prepared hatch costs no call. */
  #follow(): void {
    if (this.#following !== undefined) return;
    this.#following = new AbortController();
    pickUp(this.#link, {
      type: 'hatch-connection',
      endType: 'hatch-end',
      path: '/v1/hatch/connections',
      pending: () => this.#pending(),
      onConnection: (door, stream) => this.#take(door, stream),
      signal: this.#following.signal,
    });
  }

  #take(door: string, stream: Duplex): void {
    if (this.#onConnection !== undefined) this.#onConnection(door, stream);
    else if (this.#unserved.length < mostUnserved) this.#unserved.push([door, stream]);
    else stream.destroy();
  }

  note(denial: Denial): void {
    this.#denials.push(denial);
    if (this.#denials.length > mostDenials) this.#denials.shift();
  }

  denials(since: number): readonly Denial[] {
    return this.#denials.filter(({ at }) => at >= since);
  }

  async #pending(): Promise<readonly WaitingConnection[]> {
    return (await this.#link.call('GET', '/v1/hatch', listSchema, { quiet: true })).pending;
  }
}
