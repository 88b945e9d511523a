import type { EventGap, Events, HostEvent } from '../../../core/events.ts';
import { everyone } from '../../../core/events.ts';
import { lastEventId, signalOf, streamEvents } from '../../events.ts';
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
        'Each event once, in order; after a lost connection it goes on behind `Last-Event-ID`. A `gap` says that some are no longer kept. A key hears only of what its scopes can read.',
      tags: ['server'],
      security,
      request: { query: eventsQuery },
      responses: { 200: eventStream('Each event as it happens.', hostEventSchema), ...refusals },
    },
    async (context) => {
      const { after, whose, follow } = context.req.valid('query');
      if (whose === 'everyone') await requireScope('admin')(context, async () => {});
      const { user, scopes } = context.var.caller;
      const reading = events.read(whose === 'everyone' ? everyone : user, {
        after: lastEventId(context) ?? after ?? events.latest,
        follow: follow === 'true',
        signal: signalOf(context),
      });
      return streamEvents(context, 200, readable(reading, scopes), ({ seq }) => seq);
    },
  );
}

async function* readable(events: AsyncIterable<HostEvent | EventGap>, scopes: readonly Scope[]) {
  for await (const event of events) {
    const needed = scopeOf(event.type);
    if (needed === undefined || scopes.includes(needed)) yield toWire(event);
  }
}

function scopeOf(type: (HostEvent | EventGap)['type']): Scope | undefined {
  if (type === 'gap') return undefined;
  if (type.startsWith('entr')) return 'memory:read';
  if (type.startsWith('run-')) return 'runs';
  return 'sandboxes:read';
}
