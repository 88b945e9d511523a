import { setTimeout as delay } from 'node:timers/promises';
import type { Channel } from '../seams/channel.ts';

export interface DraftOptions {
  readonly channel: Channel;
  readonly address: string;
  /** The platform's id of a draft that an earlier host began. */
  readonly begun: string | undefined;
  /** Called once, before the first edit. The draft grows no more when it fails: somebody else has the message. */
  readonly keep: (platformId: string) => Promise<void>;
  /** Whether answers before this one are still to be sent: a draft must not come before them. */
  readonly mustWait: () => Promise<boolean>;
}

/**
 * A reply that grows on its platform while the agent writes, no faster than the platform likes. It is a courtesy: what
 * fails here is not told, because the whole reply comes from the outbox anyway and takes the draft's place.
 */
export class Draft {
  readonly #options: DraftOptions;
  #platformId: string | undefined;
  #text = '';
  #shown = '';
  #sending: Promise<void> | undefined;
  #isOver = false;
  readonly #over = new AbortController();

  constructor(options: DraftOptions) {
    this.#options = options;
    this.#platformId = options.begun;
  }

  /** The text so far, from its beginning. */
  show(text: string): void {
    const { channel, address } = this.#options;
    if (channel.editEveryMs(address) === null || this.#isOver) return;
    this.#text = text;
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined;
    });
  }

  /** Nothing is sent when this resolves. Gives what the platform calls the draft. */
  async end(): Promise<string | undefined> {
    this.#isOver = true;
    this.#over.abort();
    await this.#sending;
    return this.#platformId;
  }

  async #send(): Promise<void> {
    const { channel, address, keep, mustWait } = this.#options;
    // An answer that is whole within one interval needs no draft.
    if (this.#platformId === undefined) {
      do await this.#pause(channel.editEveryMs(address) ?? 0);
      while (!this.#isOver && (await mustWait().catch(() => true)));
    }
    while (!this.#isOver && this.#text.trim() !== '' && this.#text !== this.#shown) {
      const text = this.#text;
      const result = await channel.send(address, {
        text: unfinished(text, channel.longestText),
        ...(this.#platformId !== undefined && { edits: this.#platformId }),
      });
      if (result.outcome === 'sent') {
        this.#shown = text;
        if (this.#platformId === undefined && result.platformId !== null) {
          this.#platformId = result.platformId;
          await keep(result.platformId).catch(() => {
            this.#isOver = true;
          });
        }
      }
      // A draft of unknown fate is not begun a second time, nor one that the person removed.
      if (result.outcome === 'unknown' && this.#platformId === undefined) this.#isOver = true;
      if (result.outcome === 'gone' || result.outcome === 'closed') this.#isOver = true;
      const asked = result.outcome === 'not-sent' ? result.retryAfterMs : null;
      const pauseMs = asked ?? channel.editEveryMs(address) ?? 0;
      await this.#pause(pauseMs);
    }
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#over.signal }).catch(() => {});
  }
}

/**
 * As much as the platform takes, and a mark that more is coming: when the host is killed while the first of it is being
 * sent, nobody knows what to edit, and it stays beside the answer. It must not read as an answer then.
 */
function unfinished(text: string, longest: number): string {
  const fences = text.match(/^```/gm)?.length ?? 0;
  const shown = text.length > longest - 10 ? `…${text.slice(-(longest - 20))}` : text;
  return fences % 2 === 1 ? `${shown}…\n\`\`\`` : `${shown} …`;
}
