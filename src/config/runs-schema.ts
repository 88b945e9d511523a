import { z } from 'zod';
import { languageNames } from '../seams/run.ts';
import { count, folder, positive, size } from './setting-types.ts';

export const runsSettings = z
  .strictObject({
    images: z
      .partialRecord(z.enum(languageNames), z.string().min(1))
      .default({})
      .describe('images by language; override the pinned ones'),
    pool_floor: count.default(1).describe('minimum sandboxes kept ready of each kind in use'),
    pool_ceiling: count.default(16).describe('maximum sandboxes kept ready; 0: none'),
    start_ahead: z
      .boolean()
      .default(true)
      .describe('start python and node in ready sandboxes (about 4 and 10 MB each)'),
    concurrency: positive.int().default(8).describe('maximum runs at once'),
    queue: count.default(256).describe('maximum waiting runs'),
    disk: size.nullable().optional().describe('disk limit of a run: "1g"; null: no limit'),
    keep: count
      .default(1000)
      .describe('number of finished runs to keep, with the first 64 kB of output; 0: none'),
    pull_timeout: positive.default(600).describe('timeout of an image pull in seconds'),
  })
  .prefault({});

export const imagesSettings = z
  .strictObject({
    from: z
      .string()
      .min(1)
      .default('debian:trixie-slim')
      .describe("base of Geode's images: Debian, or an image built on it"),
    debian_mirror: z.url().optional().describe('mirror for Debian packages in builds'),
    npm_registry: z.url().optional().describe('npm registry for builds'),
    ca_file: folder.optional().describe('PEM file of additional CAs that builds trust'),
    network: z
      .enum(['default', 'host'])
      .default('default')
      .describe("network of builds: the engine's default, or the machine's"),
    build_timeout: positive.default(3600).describe('timeout of an image build in seconds'),
    registries: z
      .array(z.string().regex(/^[a-z0-9.-]+(:\d{1,5})?$/, 'is not a registry name, with an optional port'))
      .default(['docker.io'])
      .describe(
        'registries that callers without the scope admin may pull from, besides those of configured images',
      ),
    store_size: size
      .default(50 * 1024 ** 3)
      .describe(
        'maximum size of Geode\'s own image store; above it the longest unused images are removed: "50g"',
      ),
    pull_size: size.default(8 * 1024 ** 3).describe('largest image that these callers may pull: "8g"'),
    pull_per_day: size
      .default(20 * 1024 ** 3)
      .describe('maximum bytes of images that one of these users may pull in a day: "20g"'),
  })
  .prefault({});

export const solveSettings = z
  .strictObject({
    crystal_days: positive
      .default(90)
      .describe('days without use after which a crystal is no longer recalled'),
    recall_tokens: count.default(3000).describe('approximate maximum tokens of recalled text in a prompt'),
  })
  .prefault({});
