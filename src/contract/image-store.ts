/** The images that Geode pulls and stores itself, without a container engine. */
import { z } from 'zod';
import { family } from './operation.ts';
import { removedSchema } from './sandboxes.ts';

const name = z.string().min(1).max(512).meta({ example: 'docker.io/library/alpine:3.22' });
const nameQuery = z.strictObject({ name });

const storedImageSchema = z
  .object({
    id: z.string().describe('The digest of its config.'),
    digest: z.string().nullable().describe('Of its registry; null for one of an archive.'),
    size_bytes: z.number().describe('As it was pulled.'),
    names: z.array(z.string()),
    pulled_at: z.number(),
    used_at: z.number().describe('When a sandbox was last made of it, or when it was pulled.'),
    in_use: z.boolean().describe('A sandbox was made of it.'),
  })
  .meta({ id: 'StoredImage' });

const storedImagesSchema = z.object({ images: z.array(storedImageSchema) }).meta({ id: 'StoredImages' });

const importSchema = z.object({ names: z.array(z.string()) }).meta({ id: 'ImportedImages' });

const pruneSchema = z
  .strictObject({ all: z.boolean().optional().describe('Also images that no sandbox was made of.') })
  .meta({ id: 'Prune' });

const prunedSchema = z
  .object({
    removed: z.array(z.string()).describe('The names that are gone.'),
    freed_bytes: z.number().describe('Unpacked size of the removed layers.'),
  })
  .meta({ id: 'Pruned' });

export const imageStore = family({
  list: {
    route: 'GET /api/v1/image-store',
    tag: 'images',
    scope: 'sandboxes:read',
    summary: "List the images in Geode's own store",
    answer: { description: 'Newest first.', schema: storedImagesSchema, field: 'images' },
  },
  remove: {
    route: 'DELETE /api/v1/image-store',
    tag: 'images',
    scope: 'admin',
    summary: 'Remove a name of an image from the store',
    query: nameQuery,
    answer: {
      description: 'Whether there was such a name. The last name removes the files.',
      schema: removedSchema,
      field: 'removed',
    },
    refuses: { 409: 'A sandbox was made of the image.' },
  },
  prune: {
    route: 'POST /api/v1/image-store/prune',
    tag: 'images',
    scope: 'admin',
    summary: 'Remove unused layers from the store',
    body: { description: 'The extent.', schema: pruneSchema },
    answer: { description: 'The removed images and layers.', schema: prunedSchema },
  },
  load: {
    route: 'POST /api/v1/image-store/archive',
    tag: 'images',
    scope: 'admin',
    summary: 'Import images from a `docker save` archive or OCI layout',
    query: z.strictObject({ name: name.optional().describe('For an image without a name.') }),
    takes: { description: 'The archive.', type: 'application/x-tar' },
    answer: { description: 'The imported names.', schema: importSchema, field: 'names' },
    refuses: { 502: 'The archive or a layer of it is damaged, or holds a path that leads out.' },
  },
  save: {
    route: 'GET /api/v1/image-store/archive',
    tag: 'images',
    scope: 'admin',
    summary: 'Export an image as OCI layout (`docker load` reads it)',
    description: 'Its layers are packed again, so their digests differ from those of the registry.',
    query: nameQuery,
    gives: { description: 'The archive.', type: 'application/x-tar' },
    refuses: { 404: 'The image is not in the store.' },
  },
});
