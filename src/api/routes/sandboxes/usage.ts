import { toWire } from '../../../contract/names.ts';
import { chatParams, type UsageEvent, usageEventSchema, usageQuery } from '../../../contract/sandboxes.ts';
import type { PersistentSandbox } from '../../../core/persistent.ts';
import { watchMetrics } from '../../../sandboxes/metrics.ts';
import { signalOf, streamEvents } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, eventStream, sandboxRefusals, security } from '../../route.ts';
import { runningSandbox } from '../../sandbox-of.ts';

export const usage = defineRoute(
  {
    method: 'get',
    path: '/api/v1/sandboxes/{chat}/usage',
    summary: 'Watch what a sandbox uses of CPU, memory, processes and disk',
    description: 'Ends with the sandbox. One that is paused is left out until it goes on.',
    tags: ['sandboxes'],
    security,
    middleware: requireScope('sandboxes:read'),
    request: { params: chatParams, query: usageQuery },
    responses: { 200: eventStream('One event for each look.', usageEventSchema), ...sandboxRefusals },
  },
  async (context) => {
    const sandbox = await runningSandbox(context, context.req.valid('param').chat);
    const { every_ms } = context.req.valid('query');
    return streamEvents(context, 200, usageEvents(sandbox, every_ms, signalOf(context)));
  },
);

async function* usageEvents(
  sandbox: PersistentSandbox,
  everyMs: number,
  signal: AbortSignal,
): AsyncGenerator<UsageEvent> {
  let done = 0;
  for await (const each of watchMetrics(sandbox, everyMs, { signal })) {
    done += 1;
    yield { type: 'usage', ...toWire(each) };
  }
  yield { type: 'end', done };
}
