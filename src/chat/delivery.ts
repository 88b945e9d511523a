import { isGeodeError, reasonOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Bus, BusReply, Delivery, ReplyClaim } from '../seams/bus.ts';
import type { Channel, Outgoing, SendResult } from '../seams/channel.ts';
import { replyBody } from './bodies.ts';
import { ClaimLoop } from './claim-loop.ts';
import { reportUndelivered } from './undelivered.ts';

interface DeliveryOptions {
  readonly bus: Bus;
  readonly channel: Channel;
  /** A file of a chat's workspace. */
  readonly readFile: (file: FilePlace) => Promise<Uint8Array>;
  readonly log: Log;
  /** How long after the end of its host the outcome of a send counts as unknown. */
  readonly leaseMs?: number;
}

interface FilePlace {
  readonly user: string;
  readonly chat: string;
  readonly path: string;
}

const usualLeaseMs = 120_000;
/** Maximum number of chats to send to at once. */
const atOnce = 8;
const firstPauseMs = 1_000;
const longestPauseMs = 300_000;
/** A reply that no platform accepted for this long has failed. */
const deadlineMs = 24 * 3_600_000;
/** Interval of attempts for an address that is closed until the person writes. */
export const closedPauseMs = 3_600_000;

/** Sends the replies in the outbox of one channel, in the order of each chat. */
export function openDelivery(options: DeliveryOptions): AsyncDisposable {
  const { bus, channel, log, leaseMs = usualLeaseMs } = options;
  return new ClaimLoop<ReplyClaim>({
    ...{ bus, noun: 'reply', concurrency: atOnce, leaseMs, log },
    idOf: ({ reply }) => reply.id,
    async claim() {
      const claim = await bus.claimReply(channel.name, leaseMs, channel.repeatMs);
      if (claim === undefined) await reportUndelivered(bus, channel.name);
      return claim;
    },
    // A send may outlast the lease. Until it is over, nothing else of its chat may be sent.
    renew: (claim) => bus.renewReply(claim, leaseMs),
    work: (claim) => deliver(claim, options),
    // Not aborted: the outcome of an aborted send would be unknown.
    stopsWork: false,
  });
}

async function deliver(claim: ReplyClaim, options: DeliveryOptions): Promise<void> {
  const { bus, log } = options;
  const reply = claim.reply.id;
  const delivery = await send(claim, options);
  if (delivery.state !== 'sent')
    log.warn({ reply, state: delivery.state }, `A reply was not delivered: ${delivery.reason}`);
  await bus.delivered(claim, delivery);
}

async function send({ reply }: ReplyClaim, { channel, readFile }: DeliveryOptions): Promise<Delivery> {
  const { address, text, buttons, file, edits, onlyEdits } = replyBody(reply);
  const since = reply.inDoubtSince ?? Date.now();
  // The key includes the ledger and the repetition: another ledger has replies with the same ids, and a repeated
  // reply is a new message.
  const key = `${reply.lane} ${reply.key} ${reply.at}`;
  const common = { key, ...(reply.inDoubtSince !== null && { inDoubtSince: since }) };
  const mayRepeat = reply.isRepeatable || Date.now() < since + (channel.repeatMs ?? 0);
  const whole: Outgoing =
    file === null ? { text, buttons, ...common } : { ...(await withFile(text, file, readFile)), ...common };
  const first = await channel.send(
    address,
    edits === null ? whole : { ...whole, edits, dropsButtons: onlyEdits },
  );
  // The person deleted the draft: send the answer as a new message.
  if (first.outcome === 'gone' && onlyEdits) return { state: 'sent', platformId: null };
  if (first.outcome === 'gone') return deliveryOf(await channel.send(address, whole), reply, false);
  if (first.outcome !== 'refused' || whole.file === undefined) return deliveryOf(first, reply, mayRepeat);
  const instead = `The file ${whole.file.name} cannot be sent: ${first.error.message}`;
  return deliveryOf(await channel.send(address, { text: instead, ...common }), reply, mayRepeat);
}

/** If a file cannot be read, a text says so instead. */
async function withFile(
  text: string,
  file: FilePlace,
  readFile: DeliveryOptions['readFile'],
): Promise<Outgoing> {
  try {
    const bytes = await readFile(file);
    return { text, file: { name: file.path.split('/').at(-1) ?? 'file', bytes } };
  } catch (error) {
    return { text: `The file cannot be sent: ${isGeodeError(error) ? error.message : reasonOf(error)}` };
  }
}

/** `mayRepeat`: a second send is shown once, so the outcome is not left unknown. */
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
