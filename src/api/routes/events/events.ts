import { eventsQuery, hostEventSchema } from '../../../contract/host.ts';
import { toWire } from '../../../contract/names.ts';
import { GeodeError } from '../../../core/errors.ts';
import { type EventGap, type Events, everyone, type HostEvent } from '../../../core/events.ts';
import { lastEventId, signalOf, streamNumbered } from '../../events.ts';
import type { Scope } from '../../keys.ts';
import { defineRoute, eventStream, refusals, security } from '../../route.ts';
import { untilAborted } from '../../until-aborted.ts';
import { converse } from '../../upgrade.ts';
import { tellLive } from './live.ts';

export function eventRoute(events: Events) {
  return defineRoute(
    {
      method: 'get',
      path: '/api/v1/events',
      summary: 'What happens to the things of the caller, as it happens',
      description:
        'The id of each event is its number. A caller that was cut off sends the last one back and misses nothing that is still kept; what is not is told by a `gap`. A key hears only of what its scopes can read. Over a WebSocket the same events come as messages, and with `usage_ms` a `usage` of each sandbox that runs as well.',
      tags: ['server'],
      security,
      request: { query: eventsQuery },
      responses: { 200: eventStream('One event for each change.', hostEventSchema), ...refusals },
    },
    (context) => {
      const { caller } = context.var;
      const { after: asked, last = 0, follow, users, usage_ms: everyMs } = context.req.valid('query');
      if (users === 'all' && caller.actsFor !== 'anyone')
        throw new GeodeError('forbidden', "Events of all users are told on the host's own socket only");
      const after = lastEventId(context) ?? asked ?? Math.max(0, events.latest - last);
      if (context.env.upgrade !== undefined) {
        const measures = everyMs !== undefined && caller.scopes.includes('sandboxes:read');
        const { sandboxes } = context.var;
        return converse(context, (conversation) => {
          const ends = AbortSignal.any([conversation.signal, context.var.stopping]);
          const told = events.read(users === 'all' ? everyone : caller.user, { follow, after, signal: ends });
          const usage = measures && sandboxes !== undefined ? { of: sandboxes, everyMs } : undefined;
          return tellLive(
            conversation,
            numbered(after, readable(untilAborted(told, ends), caller.scopes)),
            usage,
            ends,
          );
        });
      }
      const signal = signalOf(context);
      const found = events.read(users === 'all' ? everyone : caller.user, { follow, after, signal });
      return streamNumbered(context, numbered(after, readable(untilAborted(found, signal), caller.scopes)));
    },
  );
}

/** A number comes first, so that a caller that is cut off before the first event knows where it was. */
async function* numbered(after: number, events: AsyncIterable<HostEvent | EventGap>) {
  yield { event: { type: 'ready', seq: after }, next: after };
  for await (const event of events) yield { event: toWire(event), next: event.seq };
}

async function* readable(events: AsyncIterable<HostEvent | EventGap>, scopes: readonly Scope[]) {
  for await (const event of events) {
    const needed = scopeOf(event);
    if (needed === undefined || scopes.includes(needed)) yield event;
  }
}

function scopeOf(event: HostEvent | EventGap): Scope | undefined {
  const { type } = event;
  if (type === 'gap') return undefined;
  if (type.startsWith('entr')) return 'memory:read';
  if (type.startsWith('approval-')) return 'approvals';
  if (type.startsWith('run-')) return 'runs';
  if (type.startsWith('turn-')) return 'agents';
  if (event.type === 'egress-denied' && event.chat === null) return 'runs';
  return 'sandboxes:read';
}
