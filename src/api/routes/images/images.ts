import {
  buildEventSchema,
  buildSchema,
  builtImagesSchema,
  imageParams,
  type WireBuildEvent,
} from '../../../contract/images.ts';
import { fromWire, toWire } from '../../../contract/names.ts';
import { removedSchema } from '../../../contract/sandboxes.ts';
import type { BuiltImages } from '../../../core/images.ts';
import { signalOf, streamEvents } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  eventStream,
  json,
  jsonBody,
  limitEntryBody,
  sandboxRefusals,
  security,
} from '../../route.ts';

export function imageRoutes(images: BuiltImages) {
  const list = defineRoute(
    {
      method: 'get',
      path: '/api/v1/images',
      summary: "List Geode's own images that were built here",
      tags: ['images'],
      security,
      middleware: requireScope('sandboxes:read'),
      responses: { 200: json('Oldest first.', builtImagesSchema), ...sandboxRefusals },
    },
    async (context) =>
      context.json({ images: toWire(await images.list({ signal: signalOf(context) })) }, 200),
  );

  const build = defineRoute(
    {
      method: 'post',
      path: '/api/v1/images/build',
      summary: "Build one of Geode's images, and those below it",
      description: 'The build ends when the caller leaves. One build at a time; others wait.',
      tags: ['images'],
      security,
      middleware: [requireScope('admin'), limitEntryBody],
      request: { body: jsonBody('Which image, and on what.', buildSchema) },
      responses: {
        200: eventStream('The last event is `image-built` or `problem`.', buildEventSchema),
        ...sandboxRefusals,
        ...bodyRefusals,
      },
    },
    (context) => {
      const { image: name, ...asked } = fromWire(context.req.valid('json'));
      const { user } = context.var.caller;
      const building = images.build(user, { name, ...asked, signal: signalOf(context) });
      return streamEvents(context, 200, buildEvents(building));
    },
  );

  const remove = defineRoute(
    {
      method: 'delete',
      path: '/api/v1/images/{image}',
      summary: 'Remove an image that was built here',
      tags: ['images'],
      security,
      middleware: requireScope('admin'),
      request: { params: imageParams },
      responses: { 200: json('Whether there was one.', removedSchema), ...sandboxRefusals },
    },
    async (context) => {
      const { image } = context.req.valid('param');
      const removed = await images.remove(context.var.caller.user, image, { signal: signalOf(context) });
      return context.json({ removed }, 200);
    },
  );

  return [list, build, remove] as const;
}

async function* buildEvents(building: ReturnType<BuiltImages['build']>): AsyncGenerator<WireBuildEvent> {
  let step = await building.next();
  for (; !step.done; step = await building.next()) yield toWire(step.value);
  yield { type: 'image-built', ...toWire(step.value) };
}
