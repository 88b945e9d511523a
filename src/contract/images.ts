import { z } from 'zod';
import { builtImageNames } from '../seams/images.ts';
import { family } from './operation.ts';
import { problemEvent } from './problem.ts';
import { pullEventSchema, pullProgress, pullSchema, removedSchema } from './sandboxes.ts';

const nameSchema = z.enum(builtImageNames).describe('Each is built on the one before.');

const imageParams = z.object({ image: nameSchema });

const buildSchema = z
  .strictObject({
    image: nameSchema,
    from: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe('The image at the bottom: Debian, or what is made of it. `images.from` by default.'),
    steps: z
      .enum(['cached', 'fresh'])
      .optional()
      .describe('`fresh` does every step again, also one that the engine has done before.'),
  })
  .meta({ id: 'Build' });

const builtImageSchema = z
  .object({
    name: nameSchema,
    image: z.string().describe('What a sandbox names to get it.'),
    id: z.string().describe('The digest of its content.'),
    from: z.string(),
    from_id: z.string(),
    built_at: z.number(),
    built_by: z.string(),
    size_bytes: z.number().nullable().describe('null: the engine does not have it any more.'),
  })
  .meta({ id: 'BuiltImage' });

const builtImagesSchema = z.object({ images: z.array(builtImageSchema) }).meta({ id: 'BuiltImages' });

const buildEventSchema = z
  .discriminatedUnion('type', [
    pullProgress,
    z.object({
      type: z.literal('build-step'),
      image: z.string(),
      step: z.int(),
      steps: z.int(),
      instruction: z.string(),
    }),
    z.object({ type: z.literal('build-output'), image: z.string(), line: z.string() }),
    builtImageSchema.extend({ type: z.literal('image-built') }),
    problemEvent,
  ])
  .meta({ id: 'BuildEvent' });

export const images = family({
  list: {
    route: 'GET /api/v1/images',
    tag: 'images',
    scope: 'sandboxes:read',
    summary: "List Geode's own images that were built here",
    answer: { says: 'Oldest first.', schema: builtImagesSchema, field: 'images' },
    reaches: 'sandbox',
  },
  build: {
    route: 'POST /api/v1/images/build',
    tag: 'images',
    scope: 'admin',
    summary: "Build one of Geode's images, and those below it",
    description: 'The build ends when the caller leaves. One build at a time; others wait.',
    body: { says: 'Which image, and on what.', schema: buildSchema },
    stream: { says: 'The last event is `image-built` or `problem`.', schema: buildEventSchema },
    reaches: 'sandbox',
  },
  remove: {
    route: 'DELETE /api/v1/images/{image}',
    tag: 'images',
    scope: 'admin',
    summary: 'Remove an image that was built here',
    params: imageParams,
    answer: { says: 'Whether there was one.', schema: removedSchema, field: 'removed' },
    reaches: 'sandbox',
  },
  pull: {
    route: 'POST /api/v1/images/pull',
    tag: 'server',
    scope: 'sandboxes:write',
    summary: 'Have an image here, and tell how far its pull is',
    description: 'Any number of callers share one pull; it goes on as long as one of them listens.',
    body: { says: 'Which image.', schema: pullSchema },
    stream: { says: 'The last event is `image-ready` or `problem`.', schema: pullEventSchema },
    reaches: 'sandbox',
  },
});
