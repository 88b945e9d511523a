import type { Bus, Delivery, ReplyClaim } from '../core/bus.ts';
import type { Channel, Outgoing, SendResult } from '../core/channel.ts';
import { isGeodeError, reasonOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { replyBody } from './bodies.ts';

export interface DeliveryOptions {
  readonly bus: Bus;
  readonly channel: Channel;
  /** A file of a chat's workspace. */
  readonly readFile: (file: FilePlace) => Promise<Uint8Array>;
  /** A reply has a new state. */
  readonly tell: (lane: string) => void;
  readonly log: Log;
  /** How long after the end of its host a send counts as of unknown outcome. */
  readonly leaseMs?: number;
}

interface FilePlace {
  readonly user: string;
  readonly chat: string;
  readonly path: string;
}

const usualLeaseMs = 120_000;
const lookEveryMs = 1_000;
/** Replies of different chats that are sent at once. */
const atOnce = 8;
const firstPauseMs = 1_000;
const longestPauseMs = 300_000;
/** After that many tries a platform that was never reached has been gone for about a day. */
const mostTries = 300;

/** Sends what is in the outbox of one channel, in the order of each chat. */
export class OutboxDelivery implements AsyncDisposable {
  readonly #options: DeliveryOptions;
  readonly #sending = new Set<Promise<void>>();
  readonly #listening: Disposable;
  readonly #timer: NodeJS.Timeout;
  #closed = false;
  #looking: Promise<void> | undefined;
  #lookAgain = false;

  constructor(options: DeliveryOptions) {
    this.#options = options;
    this.#listening = options.bus.onChange(() => this.#look());
    this.#timer = setInterval(() => this.#look(), lookEveryMs);
    this.#look();
  }

  /** What is under way is waited for: its outcome would be unknown otherwise. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#listening[Symbol.dispose]();
    clearInterval(this.#timer);
    await this.#looking;
    await Promise.all(this.#sending);
  }

  #look(): void {
    if (this.#closed) return;
    if (this.#looking !== undefined) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = this.#claimAll().finally(() => {
      this.#looking = undefined;
      if (!this.#lookAgain) return;
      this.#lookAgain = false;
      this.#look();
    });
  }

  async #claimAll(): Promise<void> {
    const { bus, channel, log, leaseMs = usualLeaseMs } = this.#options;
    try {
      while (this.#sending.size < atOnce && !this.#closed) {
        const claim = await bus.claimReply(channel.name, leaseMs);
        if (claim === undefined) return;
        const sending: Promise<void> = this.#deliver(claim).finally(() => {
          this.#sending.delete(sending);
          this.#look();
        });
        this.#sending.add(sending);
      }
    } catch (err) {
      log.error({ err }, `Replies cannot be taken from the outbox: ${reasonOf(err)}`);
    }
  }

  async #deliver(claim: ReplyClaim): Promise<void> {
    const { bus, log, tell, leaseMs = usualLeaseMs } = this.#options;
    // A send may take longer than the lease; until it is over, nothing of its chat may overtake it.
    const renewing = setInterval(() => {
      bus.renewReply(claim, leaseMs).catch((err) => {
        log.warn({ err, reply: claim.reply.id }, 'The lease of a reply cannot be renewed');
      });
    }, leaseMs / 4);
    const delivery = await this.#send(claim).finally(() => clearInterval(renewing));
    if (delivery.state !== 'sent')
      log.warn(
        { reply: claim.reply.id, state: delivery.state },
        `A reply was not delivered: ${delivery.reason}`,
      );
    try {
      await bus.delivered(claim, delivery);
      tell(claim.reply.lane);
    } catch (err) {
      log.error({ err, reply: claim.reply.id }, `What became of a reply cannot be kept: ${reasonOf(err)}`);
    }
  }

  async #send(claim: ReplyClaim): Promise<Delivery> {
    const { channel, readFile } = this.#options;
    const { address, text, buttons, file, edits } = replyBody(claim.reply);
    let outgoing: Outgoing = { text, buttons, ...(edits !== null && { edits }) };
    if (file !== null) {
      try {
        outgoing = {
          text,
          file: { name: file.path.split('/').at(-1) ?? 'file', bytes: await readFile(file) },
        };
      } catch (error) {
        const reason = isGeodeError(error) ? error.message : reasonOf(error);
        outgoing = { text: `The file cannot be sent: ${reason}` };
      }
    }
    return deliveryOf(await channel.send(address, outgoing), claim, edits !== null);
  }
}

/** An edit can be repeated without harm, so its outcome is never left unknown. */
function deliveryOf(result: SendResult, { reply }: ReplyClaim, isEdit: boolean): Delivery {
  if (result.outcome === 'sent') return { state: 'sent', platformId: result.platformId };
  const reason = result.error.message;
  if (result.outcome === 'refused' || reply.tries >= mostTries) return { state: 'failed', reason };
  if (result.outcome === 'unknown' && !isEdit) return { state: 'unknown', reason };
  const asked = result.outcome === 'not-sent' ? result.retryAfterMs : null;
  const pauseMs = asked ?? Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(reply.tries - 1, 20));
  return { state: 'waiting', due: Date.now() + pauseMs, reason };
}
