import { GeodeError } from '../../base/errors.ts';
import { scopeOf } from '../../chat/commands.ts';
import type { chats, schedules } from '../../contract/chats.ts';
import type { senders } from '../../contract/senders.ts';
import type { StreamItemOf } from '../../contract/types.ts';
import type { ChatEvent, Chats } from '../../seams/chat.ts';
import { callerName } from '../call.ts';
import type { Handlers } from '../serve.ts';
import { untilAborted } from '../until-aborted.ts';

export function chatHandlers(all: Chats): Handlers<typeof chats> {
  return {
    list: (_, { caller }) => all.of(caller.user).list(),
    channels: () => all.channels(),
    post({ chat, ...message }, call) {
      // Deciding an approval in a chat also needs the scope for that.
      const scope = scopeOf(message.text);
      if (scope !== undefined) call.require(scope);
      return all.of(call.caller.user).post(chat, message);
    },
    events({ chat, after: asked, follow }, { caller, signal, resumeAfter }) {
      const after = resumeAfter ?? asked;
      const events = all.of(caller.user).events(chat, { after, follow, signal });
      return numbered(untilAborted(events, signal));
    },
    export: ({ chat }, { caller, signal }) => all.of(caller.user).export(chat, { signal }),
  };
}

async function* numbered(
  events: AsyncIterable<ChatEvent>,
): AsyncGenerator<StreamItemOf<typeof chats.events>> {
  for await (const event of events) yield { event, next: 'seq' in event ? event.seq : undefined };
}

/** Scheduled messages of chats. */
export function scheduleHandlers(all: Chats): Handlers<typeof schedules> {
  return {
    list: ({ chat }, { caller }) => all.of(caller.user).schedules.list(chat),
    add({ chat, ...given }, { caller, reach }) {
      if (reach !== undefined && reach.chat !== chat)
        throw new GeodeError('forbidden', 'A tool of a sandbox can schedule messages only for its own chat');
      return all.of(caller.user).schedules.add(chat, given, callerName(caller), reach?.mostSchedules);
    },
    remove: ({ id }, { caller }) => all.of(caller.user).schedules.remove(id, callerName(caller)),
  };
}

/** People on the channels and the users they act as; only for the operator of the host. */
export function senderHandlers(all: Chats): Handlers<typeof senders> {
  return {
    pairings: () => all.pairings(),
    pair: ({ code, user }, { caller }) => all.pair(code, { user, by: callerName(caller) }),
    list: () => all.senders(),
    remove({ channel, sender }, { caller }) {
      all.unpair(channel, sender, callerName(caller));
      return all.senders();
    },
    audit: (which) => all.audit(which),
  };
}
