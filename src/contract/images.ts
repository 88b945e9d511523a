import { z } from 'zod';
import { builtImageNames } from '../core/images.ts';
import { problemEvent } from './problem.ts';
import { pullProgress } from './sandboxes.ts';

const nameSchema = z.enum(builtImageNames).describe('Each is built on the one before.');

export const imageParams = z.object({ image: nameSchema });

export const buildSchema = z
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

export const builtImagesSchema = z.object({ images: z.array(builtImageSchema) }).meta({ id: 'BuiltImages' });

export const buildEventSchema = z
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

export type WireBuildEvent = z.infer<typeof buildEventSchema>;
export type WireBuiltImage = z.infer<typeof builtImageSchema>;
