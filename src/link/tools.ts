import type { Duplex } from 'node:stream';
import { z } from 'zod';
import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { ToolDoor, ToolPlace } from '../seams/tools.ts';
import type { Link } from './link.ts';
import { connectionId, pickUp, type WaitingConnection } from './pick-up.ts';

const pathSchema = z.string().min(1).max(4096);
const placeSchema = z.object({ path: pathSchema, folder: pathSchema, guest: pathSchema });
const listSchema = z.object({ pending: z.array(connectionId).max(4096) });

/** The tool socket of a guest, over its link. */
export class GuestTools implements ToolDoor {
  readonly #link: Link;
  readonly #folder: string;
  #serving: AbortController | undefined;

  /** The folder is in the sandbox and is created if needed. */
  constructor(link: Link, folder: string) {
    this.#link = link;
    this.#folder = folder;
  }

  async open(cancel: Cancel = {}): Promise<ToolPlace> {
    const asked = { body: { folder: this.#folder }, quiet: true, ...cancel };
    const { path, folder, guest } = await this.#link.call('POST', '/v1/tools', placeSchema, asked);
    return { socket: path, folder, guest };
  }

  async close(cancel: Cancel = {}): Promise<void> {
    await this.#link.call('DELETE', '/v1/tools', z.unknown(), { quiet: true, ...cancel });
  }

  serve(onConnection: (stream: Duplex) => void): Disposable {
    if (this.#serving !== undefined)
      throw new GeodeError('internal', 'The tools of this sandbox are already served.');
    const serving = new AbortController();
    this.#serving = serving;
    pickUp(this.#link, {
      type: 'tool-connection',
      path: '/v1/tools/connections',
      pending: () => this.#pending(),
      onConnection: (_, stream) => onConnection(stream),
      signal: serving.signal,
    });
    return {
      [Symbol.dispose]: () => {
        serving.abort();
        if (this.#serving === serving) this.#serving = undefined;
      },
    };
  }

  async #pending(): Promise<readonly WaitingConnection[]> {
    const { pending } = await this.#link.call('GET', '/v1/tools', listSchema, { quiet: true });
    return pending.map((id) => ({ id, door: '' }));
  }
}
