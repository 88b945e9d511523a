import { GeodeError } from '../core/errors.ts';
import type { UserSandboxes } from '../core/persistent.ts';
import { checkName } from './owner.ts';
import type { Registry } from './registry.ts';

/** The registry as one user sees it: the user is in every call, and cannot be left out or changed. */
export function userSandboxes(registry: Registry, name: string): UserSandboxes {
  const user = checkName(name, 'user');
  return {
    user,
    getOrCreate: (chat, spec = {}, options) => registry.getOrCreate(user, chat, spec, options),
    start: (chat, options) => registry.start(user, chat, options),
    stop: (chat, options) => registry.stop(user, chat, options),
    remove: (chat, options) => registry.remove(user, chat, options),
    fork: (chat, to, options = {}) => registry.fork(user, chat, to, options),
    pause: (chat, options) => registry.pause(user, chat, options),
    list: (options) => registry.list(user, options),
    inspect: (chat, options) => registry.inspect(user, chat, options),
    async extend(chat, ms) {
      const until = checkTime(
        Date.now() + checkTime(ms, 'The time to extend by'),
        'The time to keep it until',
      );
      return registry.change(user, chat, (book, id) => book.keepUntil(id, until));
    },
    async thinkingUntil(chat, time) {
      checkTime(time, 'The time to think until');
      await registry.change(user, chat, (book, id) => book.thinkUntil(id, time));
    },
    label: (chat, labels) => registry.label(user, chat, labels),
    rename: (chat, to) => registry.rename(user, chat, to),
    journals: (chat) => registry.journals(user, chat),
  };
}

/** The end of the year 9999: what is later is no time that a person means, nor one that every part can hold. */
const latestTime = 253_402_300_799_999;

function checkTime(ms: number, what: string): number {
  if (Number.isSafeInteger(ms) && ms >= 0 && ms <= latestTime) return ms;
  throw new GeodeError(
    'invalid_input',
    `${what} is ${ms}, but must be a whole number of ms from 0 to ${latestTime}.`,
  );
}
