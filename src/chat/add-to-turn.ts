import { messageBody, textFor } from './bodies.ts';
import { chatCommandOf } from './commands.ts';
import type { TurnScene } from './turn.ts';

/** A reader would find more than this hard to follow at once. */
const mostAtOnce = 20;

/**
 * Adds waiting messages to a running turn, in order. An added message stays in its lane until the turn is over and
 * then ends without a turn of its own, so a crash at any moment neither loses nor repeats it. A command or a file
 * stays where it is, and so does everything after it.
 */
export function addWhileRunning(scene: TurnScene, signal: AbortSignal): Disposable {
  const { bus, log } = scene.parts;
  let isLooking = false;
  let lookAgain = false;
  const look = async (): Promise<void> => {
    if (isLooking || signal.aborted) {
      lookAgain = isLooking;
      return;
    }
    isLooking = true;
    try {
      do {
        lookAgain = false;
        await addWaiting(scene);
      } while (lookAgain);
    } catch (err) {
      log.warn({ err }, 'Waiting messages cannot be added to the running turn; they are handled after it');
    } finally {
      isLooking = false;
    }
  };
  const listening = bus.onChange(() => void look());
  void look();
  return listening;
}

async function addWaiting({ parts, chat }: TurnScene): Promise<void> {
  const agents = parts.agents.of(chat.user);
  const now = parts.chats.at(chat.lane);
  const usual = now?.during ?? parts.during;
  for (const message of await parts.bus.waiting(chat.lane, mostAtOnce)) {
    const body = messageBody(message);
    const { files, sender, during = usual } = body;
    if (during !== 'steer') return;
    const user = parts.senders.userOf(sender.channel, sender.id);
    const mayspeak = user === chat.user || (user !== undefined && now?.isShared === true);
    const isPlain = message.kind === 'interactive' && files.length === 0 && chatCommandOf(body) === undefined;
    if (!isPlain || !mayspeak) return;
    if (!agents.steer(chat.name, { text: textFor(body), mark: message.key })) return;
  }
}
