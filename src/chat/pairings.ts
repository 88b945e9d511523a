import { isGeodeError } from '../base/errors.ts';
import { localUser, userPattern } from '../base/identity.ts';
import type { Bus } from '../seams/bus.ts';
import type { PairedSender, Pairing } from '../seams/chat.ts';
import type { EventSink } from '../seams/events.ts';
import { newReply } from './bodies.ts';
import { type ChatTable, laneOf, webChannel } from './chat-table.ts';
import type { CommandAnswer, CommandScene } from './commands.ts';
import type { Senders } from './senders.ts';
import { answerKept } from './strangers.ts';

interface PairingParts {
  readonly senders: Senders;
  readonly chats: ChatTable;
  readonly bus: Bus;
  readonly events: EventSink;
}

/** Maximum pending requests of strangers that are announced; further ones appear only in the list. */
const mostAnnounced = 5;
/** Older messages of a stranger are dropped. */
const keptMs = 24 * 3_600_000;

/**
 * Pairing of strangers. The owner is the person who acts as the user of this machine. Requests appear in every
 * private chat of the owner, and only the owner can answer them there.
 */
export class Pairings {
  readonly #parts: PairingParts;

  constructor(parts: PairingParts) {
    this.#parts = parts;
  }

  async letIn(
    code: string,
    { user, by }: { readonly user: string; readonly by: string },
  ): Promise<PairedSender> {
    const { senders, bus, events } = this.#parts;
    const { paired, address } = senders.pair(code, { user, by });
    const { channel } = paired;
    const lane = laneOf(channel, address);
    const { sender } = paired;
    const text = 'You are paired. Your earlier messages are answered now; /help lists the commands.';
    await bus.storeReply(newReply({ channel, address, lane }, `paired:${lane}:${paired.pairedAt}`, { text }));
    await answerKept({ bus }, lane, { sender, user, since: paired.pairedAt - keptMs });
    events.emit(user, { type: 'sender-paired', channel, sender: paired.sender });
    return paired;
  }

  /** Announces once for each code and chat, however often it is called. */
  async notifyOwner(pairing: Pairing): Promise<void> {
    const { senders, chats, bus } = this.#parts;
    if (senders.pairings().length > mostAnnounced) return;
    const { code } = pairing;
    const text = `${personOf(pairing)} asks for access, with the code \`${code}\`. To pair them as another user: \`/pair ${code} USER\`.`;
    const buttons = [{ label: 'Let in', value: `/pair ${code}` }];
    for (const chat of chats.ofUser(localUser))
      if (!chat.isGroup && chat.channel !== webChannel)
        await bus.storeReply(newReply(chat, `pairing:${code}:${chat.lane}`, { text, buttons }));
  }

  /** `/pair`. A person paired without a user name becomes a new user. */
  async answer({ chat, words, by }: CommandScene): Promise<CommandAnswer> {
    if (chat.user !== localUser) return { text: 'Only the owner of this gateway can pair people.' };
    const open = this.#parts.senders.pairings();
    const [code = '', given] = words.split(/\s+/);
    if (code === '')
      return {
        text:
          open.map((each) => `\`${each.code}\` ${personOf(each)}`).join('\n') ||
          'Nobody is waiting to be paired.',
      };
    const asked = open.find((each) => each.code === code.toUpperCase());
    const user = given ?? (asked && `${asked.channel}:${asked.sender}`.toLowerCase());
    if (asked === undefined || user === undefined)
      return { text: `Nobody is waiting with the code ${code.slice(0, 20)}.` };
    if (!userPattern.test(user))
      return { text: `Name the user: \`/pair ${asked.code} USER\`, in lower-case letters and digits.` };
    try {
      await this.letIn(asked.code, { user, by });
    } catch (error) {
      if (!isGeodeError(error, 'pairing_not_found')) throw error;
      return { text: `${asked.code}: already answered or expired.` };
    }
    return { text: `${personOf(asked)} now speaks as \`${user}\`.` };
  }
}

function personOf({ name, sender, channel }: Pairing): string {
  return `\`${name}\` (\`${sender}\` on ${channel})`;
}
