import { isGeodeError, reasonOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Bus, BusReply, Delivery, ReplyClaim } from '../seams/bus.ts';
import type { Channel, Outgoing, SendResult } from '../seams/channel.ts';
import { replyBody } from './bodies.ts';
import { reportUndelivered } from './undelivered.ts';

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
/** A reply that no platform took for so long has failed. */
const deadlineMs = 24 * 3_600_000;
/** An address that is closed until the person writes is tried by itself so often. */
export const closedPauseMs = 3_600_000;

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
        const claim = await bus.claimReply(channel.name, leaseMs, channel.repeatMs);
        if (claim === undefined) return await reportUndelivered(bus, channel.name);
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
    const { channel } = this.#options;
    const { reply } = claim;
    const { address, text, buttons, file, edits, onlyEdits } = replyBody(reply);
    const since = reply.inDoubtSince ?? Date.now();
    // Another ledger has replies with the same keys, and one that a person wants again is another message.
    const key = `${reply.lane} ${reply.key} ${reply.at}`;
    const common = { key, ...(reply.inDoubtSince !== null && { inDoubtSince: since }) };
    const mayRepeat = reply.isRepeatable || Date.now() < since + (channel.repeatMs ?? 0);
    const whole: Outgoing =
      file === null ? { text, buttons, ...common } : { ...(await this.#withFile(text, file)), ...common };
    const first = await channel.send(
      address,
      edits === null ? whole : { ...whole, edits, dropsButtons: onlyEdits },
    );
    // The person removed the draft: the answer has a message of its own.
    if (first.outcome === 'gone' && onlyEdits) return { state: 'sent', platformId: null };
    if (first.outcome === 'gone') return deliveryOf(await channel.send(address, whole), reply, false);
    if (first.outcome !== 'refused' || whole.file === undefined) return deliveryOf(first, reply, mayRepeat);
    const instead = `The file ${whole.file.name} cannot be sent: ${first.error.message}`;
    return deliveryOf(await channel.send(address, { text: instead, ...common }), reply, mayRepeat);
  }

  /** A file that cannot be had becomes a word about it. */
  async #withFile(text: string, file: FilePlace): Promise<Outgoing> {
    try {
      const bytes = await this.#options.readFile(file);
      return { text, file: { name: file.path.split('/').at(-1) ?? 'file', bytes } };
    } catch (error) {
      return { text: `The file cannot be sent: ${isGeodeError(error) ? error.message : reasonOf(error)}` };
    }
  }
}

/** `mayRepeat`: sending it once more shows it once, so its outcome is not left unknown. */
function deliveryOf(result: SendResult, reply: BusReply, mayRepeat: boolean): Delivery {
  if (result.outcome === 'sent') return { state: 'sent', platformId: result.platformId };
  const reason = result.error.message;
  if (result.outcome === 'refused' || result.outcome === 'gone') return { state: 'failed', reason };
  const isInDoubt = result.outcome === 'unknown';
  if (result.outcome === 'unknown' && (!mayRepeat || result.isFinal === true))
    return { state: 'unknown', reason };
  if (Date.now() > reply.at + deadlineMs && result.outcome !== 'closed') {
    const state = isInDoubt || reply.inDoubtSince !== null ? 'unknown' : 'failed';
    return { state, reason };
  }
  const asked = result.outcome === 'not-sent' ? result.retryAfterMs : null;
  const later = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(reply.tries - 1, 20));
  const pauseMs = result.outcome === 'closed' ? closedPauseMs : (asked ?? later);
  return { state: 'waiting', due: Date.now() + pauseMs, reason, isInDoubt };
}
