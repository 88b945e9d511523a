import { setTimeout as delay } from 'node:timers/promises';
import type { Channel } from '../seams/channel.ts';

export interface DraftOptions {
  readonly channel: Channel;
  readonly address: string;
  /** The platform's id of a draft that an earlier host started. */
  readonly begun: string | undefined;
  /** Called once, before the first edit. If it fails, the draft stops growing: another host has the message. */
  readonly keep: (platformId: string) => Promise<void>;
  /** Whether earlier answers are still to be sent: a draft must not overtake them. */
  readonly mustWait: () => Promise<boolean>;
}

/**
 * A reply that grows on its platform while the agent writes, at the platform's rate. Failures are ignored, because
 * the outbox sends the complete reply and replaces the draft.
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

  /** The complete text so far. */
  show(text: string): void {
    const { channel, address } = this.#options;
    if (channel.editEveryMs(address) === null || this.#isOver) return;
    this.#text = text;
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined;
    });
  }

  /** Resolves when nothing is being sent. Returns the platform's id of the draft. */
  async end(): Promise<string | undefined> {
    this.#isOver = true;
    this.#over.abort();
    await this.#sending;
    return this.#platformId;
  }

  async #send(): Promise<void> {
    const { channel, address, keep, mustWait } = this.#options;
    // No draft if the answer is complete within one interval.
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
      // Never start a draft again if its first send may have arrived or the person deleted it.
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
 * The text cut to the platform's maximum, with a mark that more follows. If the host is killed during the first send,
 * its id is lost and the draft stays next to the answer: the mark shows that it is not the answer.
 */
function unfinished(text: string, longest: number): string {
  const fences = text.match(/^```/gm)?.length ?? 0;
  const shown = text.length > longest - 10 ? `…${text.slice(-(longest - 20))}` : text;
  return fences % 2 === 1 ? `${shown}…\n\`\`\`` : `${shown} …`;
}
