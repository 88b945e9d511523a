import type { Context } from 'hono';
import { fromWire, toWire } from '../../../contract/names.ts';
import {
  type CreateEvent,
  createEventSchema,
  newSandboxSchema,
  sandboxSchema,
} from '../../../contract/sandboxes.ts';
import type { PersistentSpec } from '../../../core/persistent.ts';
import type { PullEvent } from '../../../core/run.ts';
import { newEgress } from '../../egress-reach.ts';
import type { ApiEnv, ApiParts } from '../../environment.ts';
import { signalOf, streamEvents, wantsEvents } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import { pullWatch } from '../../pull-watch.ts';
import {
  bodyRefusals,
  defineRoute,
  jsonBody,
  limitEntryBody,
  sandboxRefusals,
  security,
} from '../../route.ts';
import { checkReach } from '../../sandbox-of.ts';
import { toldMeanwhile } from '../../told-meanwhile.ts';

export function create(host: ApiParts['egress']) {
  return defineRoute(
    {
      method: 'post',
      path: '/api/v1/sandboxes',
      summary: 'Get the sandbox of a chat, made or started if need be',
      description:
        'One that is there must agree with what is asked for. With `Accept: text/event-stream` a pull of its image is reported.',
      tags: ['sandboxes'],
      security,
      middleware: [requireScope('sandboxes:write'), limitEntryBody],
      request: { body: jsonBody('Which chat, and what the sandbox shall be.', newSandboxSchema) },
      responses: {
        200: {
          description: 'It runs.',
          content: {
            'application/json': { schema: sandboxSchema },
            'text/event-stream': { schema: createEventSchema },
          },
        },
        ...sandboxRefusals,
        ...bodyRefusals,
      },
    },
    async (context) => {
      const { chat, egress: asked, ...rest } = fromWire(context.req.valid('json'));
      checkReach(context, { ...rest, runtime: rest.runtime, limits: rest.limits });
      const egress = asked && newEgress(context, host, asked);
      const spec = { ...rest, ...(egress && { egress }) };
      if (wantsEvents(context)) return streamEvents(context, 200, creation(context, chat, spec));
      return context.json(await made(context, chat, spec), 200);
    },
  );
}

async function* creation(
  context: Context<ApiEnv>,
  chat: string,
  spec: PersistentSpec,
): AsyncGenerator<CreateEvent> {
  const making = toldMeanwhile((tell: (event: PullEvent) => void) =>
    pullWatch.run(tell, () => made(context, chat, spec)),
  );
  let step = await making.next();
  for (; !step.done; step = await making.next()) yield toWire(step.value);
  yield { type: 'sandbox-ready', ...step.value };
}

async function made(context: Context<ApiEnv>, chat: string, spec: PersistentSpec) {
  const { sandboxes } = context.var;
  const signal = signalOf(context);
  await sandboxes.getOrCreate(chat, spec, { signal });
  return toWire(await sandboxes.inspect(chat, { signal }));
}
