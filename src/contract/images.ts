import { z } from 'zod';
import { builtImageNames } from '../seams/images.ts';
import { family } from './operation.ts';
import { problemEvent } from './problem.ts';
import { pullEventSchema, pullProgress, pullSchema, removedSchema } from './sandboxes.ts';

const nameSchema = z.enum(builtImageNames).describe('Each image builds on the previous one.');

const imageParams = z.object({ image: nameSchema });

const buildSchema = z
  .strictObject({
    image: nameSchema,
    from: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe('The base image: Debian or built on it. Default: `images.from`.'),
    steps: z
      .enum(['cached', 'fresh'])
      .optional()
      .describe("`fresh` repeats every step and ignores the engine's cache."),
  })
  .meta({ id: 'Build' });

const builtImageSchema = z
  .object({
    name: nameSchema,
    image: z.string().describe('The name to use for a sandbox.'),
    id: z.string().describe('The digest of its content.'),
    from: z.string(),
    from_id: z.string(),
    built_at: z.number(),
    built_by: z.string(),
    size_bytes: z.number().nullable().describe('null: the engine no longer has it.'),
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
    summary: 'List the images that Geode built',
    answer: { description: 'Oldest first.', schema: builtImagesSchema, field: 'images' },
    reaches: 'sandbox',
  },
  build: {
    route: 'POST /api/v1/images/build',
    tag: 'images',
    scope: 'admin',
    summary: "Build one of Geode's images and its bases",
    description: 'The build stops when the caller disconnects. One build runs at a time.',
    body: { description: 'The image and its base.', schema: buildSchema },
    stream: { description: 'The last event is `image-built` or `problem`.', schema: buildEventSchema },
    reaches: 'sandbox',
  },
  remove: {
    route: 'DELETE /api/v1/images/{image}',
    tag: 'images',
    scope: 'admin',
    summary: 'Remove an image that Geode built',
    params: imageParams,
    answer: { description: 'Whether there was such an image.', schema: removedSchema, field: 'removed' },
    reaches: 'sandbox',
  },
  pull: {
    route: 'POST /api/v1/images/pull',
    tag: 'server',
    scope: 'sandboxes:write',
    summary: 'Pull an image and stream the progress',
    description: 'Callers share one pull; it continues while one of them is connected.',
    body: { description: 'The image.', schema: pullSchema },
    stream: { description: 'The last event is `image-ready` or `problem`.', schema: pullEventSchema },
    reaches: 'sandbox',
  },
});
