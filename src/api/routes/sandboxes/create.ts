import type { Context } from 'hono';
import type { PersistentSpec } from '../../../core/persistent.ts';
import { newEgress } from '../../egress-reach.ts';
import type { ApiEnv, ApiParts } from '../../environment.ts';
import { signalOf, streamEvents, wantsEvents } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  jsonBody,
  limitEntryBody,
  sandboxRefusals,
  security,
} from '../../route.ts';
import { checkReach } from '../../sandbox-of.ts';
import { fromWire, toWire } from '../../schemas/names.ts';
import {
  type CreateEvent,
  createEventSchema,
  newSandboxSchema,
  sandboxSchema,
} from '../../schemas/sandboxes.ts';

export function create({ image, egress: host }: Pick<ApiParts, 'image' | 'egress'>) {
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
      checkReach(context, rest);
      const egress = asked && newEgress(context, host, asked);
      const spec = { ...rest, ...(egress && { egress }) };
      if (wantsEvents(context)) return streamEvents(context, 200, creation(context, chat, spec, image));
      return context.json(await made(context, chat, spec), 200);
    },
  );
}

async function* creation(
  context: Context<ApiEnv>,
  chat: string,
  spec: PersistentSpec,
  image: ApiParts['image'],
): AsyncGenerator<CreateEvent> {
  if (image !== undefined && spec.image !== undefined) {
    const { runtime } = spec;
    const finding = image(spec.image, {
      ...(runtime !== undefined && { runtime }),
      signal: signalOf(context),
    });
    for await (const progress of finding) yield toWire(progress);
  }
  yield { type: 'sandbox-ready', ...(await made(context, chat, spec)) };
}

async function made(context: Context<ApiEnv>, chat: string, spec: PersistentSpec) {
  const { sandboxes } = context.var;
  const signal = signalOf(context);
  await sandboxes.getOrCreate(chat, spec, { signal });
  return toWire(await sandboxes.inspect(chat, { signal }));
}
