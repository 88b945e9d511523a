import type { agents } from '../../contract/agents.ts';
import { bytesOf } from '../../contract/encoding.ts';
import type { AgentEvent, Agents } from '../../seams/agent.ts';
import { callerName } from '../call.ts';
import type { Handlers } from '../serve.ts';
import { begun } from '../streams.ts';
import { untilAborted } from '../until-aborted.ts';

export function agentHandlers(all: Agents): Handlers<typeof agents> {
  return {
    list: (_, { caller }) => all.of(caller.user).list(),
    get: ({ chat }, { caller }) => all.of(caller.user).get(chat),
    open: ({ chat, ...asked }, { caller, signal }) => all.of(caller.user).open(chat, { ...asked, signal }),
    terminal: ({ chat, columns, rows, ...asked }, { caller, signal }) =>
      all.of(caller.user).terminal(chat, { ...asked, size: { columns, rows }, signal }),
    send({ chat, text, mark, unattended, driver, model, attachments = [] }, { caller, signal }) {
      const files = attachments.map(({ name, content }) => ({ name, bytes: bytesOf(content) }));
      const message = { text, mark, unattended, attachments: files };
      return begun(numbered(all.of(caller.user).send(chat, message, { driver, model, signal })));
    },
    events({ chat, after, follow }, { caller, signal, resumeAfter }) {
      const own = all.of(caller.user);
      own.get(chat);
      const events = own.events(chat, { after: resumeAfter ?? after, follow, signal });
      return numbered(untilAborted(events, signal));
    },
    interrupt: ({ chat }, { caller, signal }) => all.of(caller.user).interrupt(chat, { signal }),
    fork: ({ chat, to, before }, { caller, signal }) =>
      all.of(caller.user).fork(chat, to, { before, signal }),
    answer: ({ chat, id, answer }, { caller }) =>
      all.of(caller.user).answer(chat, id, answer, callerName(caller)),
    stop: ({ chat }, { caller, signal }) => all.of(caller.user).stop(chat, { signal }),
  };
}

async function* numbered(events: AsyncIterable<AgentEvent>) {
  for await (const event of events) yield { event, next: event.seq };
}
