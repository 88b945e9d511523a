import type { EventGap, Events, HostEvent } from '../../../core/events.ts';
import { everyone } from '../../../core/events.ts';
import { lastEventId, signalOf, streamNumbered } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import type { Scope } from '../../keys.ts';
import { defineRoute, eventStream, refusals, security } from '../../route.ts';
import { eventsQuery, hostEventSchema } from '../../schemas/events.ts';
import { toWire } from '../../schemas/names.ts';

export function hostEvents(events: Events) {
  return defineRoute(
    {
      method: 'get',
      path: '/api/v1/events',
      summary: 'Hear what happens: sandboxes, processes, runs, entries',
      description:
        'First `ready` with the number behind which the reading begins, then each event once, in order; after a lost connection it goes on behind `Last-Event-ID`. A `gap` says that some are no longer kept. A key hears only of what its scopes can read.',
      tags: ['server'],
      security,
      request: { query: eventsQuery },
      responses: { 200: eventStream('Each event as it happens.', hostEventSchema), ...refusals },
    },
    async (context) => {
      const { after, whose, follow } = context.req.valid('query');
      if (whose === 'everyone') await requireScope('admin')(context, async () => {});
      const { user, scopes } = context.var.caller;
      const known = lastEventId(context) ?? after ?? events.latest;
      const reading = events.read(whose === 'everyone' ? everyone : user, {
        after: known,
        follow: follow === 'true',
        signal: signalOf(context),
      });
      return streamNumbered(context, readable(known, reading, scopes));
    },
  );
}

/** A number comes first, so that a caller that is cut off before the first event knows where it was. */
async function* readable(
  after: number,
  events: AsyncIterable<HostEvent | EventGap>,
  scopes: readonly Scope[],
) {
  yield { event: { type: 'ready', seq: after }, next: after };
  for await (const event of events) {
    const needed = scopeOf(event.type);
    if (needed === undefined || scopes.includes(needed)) yield { event: toWire(event), next: event.seq };
  }
}

function scopeOf(type: (HostEvent | EventGap)['type']): Scope | undefined {
  if (type === 'gap') return undefined;
  if (type.startsWith('entr')) return 'memory:read';
  if (type.startsWith('run-')) return 'runs';
  return 'sandboxes:read';
}
