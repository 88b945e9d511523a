import type { events } from '../../contract/events.ts';
import type { Scope } from '../../contract/keys.ts';
import type { StreamItemOf } from '../../contract/types.ts';
import { type EventGap, type Events, everyone, type HostEvent } from '../../seams/events.ts';
import { refuseUnlessOwnSocket } from '../call.ts';
import type { Handlers } from '../serve.ts';
import { untilAborted } from '../until-aborted.ts';
import { sendLive } from './live.ts';

export function eventHandlers(source: Events): Handlers<typeof events> {
  return {
    read({ after: asked, last = 0, follow, users, usageMs: everyMs }, call) {
      const { caller, resumeAfter, sandboxes } = call;
      if (users === 'all') refuseUnlessOwnSocket(call, 'Events of all users are told');
      const after = resumeAfter ?? asked ?? Math.max(0, source.latest - last);
      const from = (signal: AbortSignal) => {
        const found = source.read(users === 'all' ? everyone : caller.user, { follow, after, signal });
        return numbered(after, readable(untilAborted(found, signal), caller.scopes));
      };
      if (!call.wantsSocket) return from(call.signal);
      const measures = everyMs !== undefined && caller.scopes.includes('sandboxes:read');
      const usage = measures && sandboxes !== undefined ? { of: sandboxes, everyMs } : undefined;
      return (talk) => {
        const ends = AbortSignal.any([talk.signal, call.stopping]);
        return sendLive(talk, from(ends), usage, ends);
      };
    },
  };
}

type Numbered = StreamItemOf<typeof events.read>;

/** The current number comes first, so a caller that is cut off before the first event knows where to continue. */
async function* numbered(
  after: number,
  found: AsyncIterable<HostEvent | EventGap>,
): AsyncGenerator<Numbered> {
  yield { event: { type: 'ready', seq: after }, next: after };
  for await (const event of found) yield { event, next: event.seq };
}

async function* readable(found: AsyncIterable<HostEvent | EventGap>, scopes: readonly Scope[]) {
  for await (const event of found) {
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
  if (type.startsWith('key-') || type === 'provider-connect') return 'admin';
  if (event.type === 'egress-denied' && event.chat === null) return 'runs';
  return 'sandboxes:read';
}
