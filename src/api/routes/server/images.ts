import { fromWire, toWire } from '../../../contract/names.ts';
import { type PullEvent, pullEventSchema, pullSchema } from '../../../contract/sandboxes.ts';
import type { ApiParts } from '../../environment.ts';
import { signalOf, streamEvents } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  eventStream,
  jsonBody,
  limitEntryBody,
  sandboxRefusals,
  security,
} from '../../route.ts';

export function pull(image: NonNullable<ApiParts['image']>) {
  return defineRoute(
    {
      method: 'post',
      path: '/api/v1/images/pull',
      summary: 'Have an image here, and tell how far its pull is',
      description: 'Any number of callers share one pull; it goes on as long as one of them listens.',
      tags: ['server'],
      security,
      middleware: [requireScope('sandboxes:write'), limitEntryBody],
      request: { body: jsonBody('Which image.', pullSchema) },
      responses: {
        200: eventStream('The last event is `image-ready` or `problem`.', pullEventSchema),
        ...sandboxRefusals,
        ...bodyRefusals,
      },
    },
    (context) => {
      const { image: name, runtime } = fromWire(context.req.valid('json'));
      const found = image(name, { ...(runtime !== undefined && { runtime }), signal: signalOf(context) });
      return streamEvents(context, 200, pullEvents(found));
    },
  );
}

async function* pullEvents(found: ReturnType<NonNullable<ApiParts['image']>>): AsyncGenerator<PullEvent> {
  let step = await found.next();
  for (; !step.done; step = await found.next()) yield toWire(step.value);
  yield { type: 'image-ready', ...toWire(step.value) };
}
