import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);

const descriptorSchema = z.looseObject({
  mediaType: z.string().max(200),
  digest,
  size: z.number().int().nonnegative(),
});
export type Descriptor = z.infer<typeof descriptorSchema>;

const manifestSchema = z.looseObject({
  schemaVersion: z.literal(2),
  config: descriptorSchema,
  layers: z.array(descriptorSchema).max(512),
});
export type Manifest = z.infer<typeof manifestSchema>;

const indexSchema = z.looseObject({
  schemaVersion: z.literal(2),
  manifests: z
    .array(
      descriptorSchema.extend({
        platform: z.looseObject({ os: z.string(), architecture: z.string() }).optional(),
      }),
    )
    .max(1_000),
});

const configSchema = z.looseObject({
  os: z.string(),
  architecture: z.string(),
  config: z.looseObject({ Env: z.array(z.string()).nullish() }).nullish(),
  rootfs: z.looseObject({ type: z.literal('layers'), diff_ids: z.array(digest).max(512) }),
});
export type ImageConfig = z.infer<typeof configSchema>;

/** The requested media types: those of OCI and of Docker. */
export const acceptedTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

/** A manifest, or the digest of the one for this machine's architecture. */
export function readManifest(
  text: string,
  name: string,
  architecture: string,
): { readonly manifest: Manifest } | { readonly digest: string } {
  const json = jsonOf(text, name);
  const index = indexSchema.safeParse(json);
  if (!index.success) return { manifest: parsed(manifestSchema, json, name) };
  const { manifests } = index.data;
  const found = manifests.find(
    ({ platform }) => platform?.os === 'linux' && platform.architecture === architecture,
  );
  if (found !== undefined) return { digest: found.digest };
  const offered = manifests.flatMap(({ platform }) =>
    platform === undefined || platform.os === 'unknown' ? [] : [`${platform.os}/${platform.architecture}`],
  );
  throw new GeodeError(
    'image_missing',
    `${name} has no image for linux/${architecture}, only for ${offered.join(', ')}.`,
  );
}

export function readConfig(text: string, name: string, architecture: string): ImageConfig {
  const config = parsed(configSchema, jsonOf(text, name), name);
  if (config.os === 'linux' && config.architecture === architecture) return config;
  throw new GeodeError(
    'image_missing',
    `${name} is for ${config.os}/${config.architecture}; this machine is linux/${architecture}.`,
  );
}

function jsonOf(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new GeodeError('pull_failed', `The registry's manifest of ${name} is not JSON.`, { cause });
  }
}

function parsed<Schema extends z.ZodType>(schema: Schema, json: unknown, name: string): z.output<Schema> {
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  throw new GeodeError(
    'pull_failed',
    `The registry's manifest of ${name} is not valid: ${z.prettifyError(result.error)}`,
  );
}
