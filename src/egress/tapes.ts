import { chatKey } from '../base/identity.ts';
import type { Tape, Tapes } from '../seams/tapes.ts';

export function openTapes(): Tapes {
  const inserted = new Map<string, Tape>();
  return {
    insert(user, chat, tape) {
      const key = chatKey(user, chat);
      inserted.set(key, tape);
      return {
        [Symbol.dispose]() {
          if (inserted.get(key) === tape) inserted.delete(key);
        },
      };
    },
    of: (user, chat) => inserted.get(chatKey(user, chat)),
  };
}
