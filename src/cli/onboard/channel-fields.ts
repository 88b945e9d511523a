/** The questions about each channel, derived from the config schema. */
import { z } from 'zod';
import { configSchema } from '../../config/schema.ts';
import type { Machine } from '../../machine/machine.ts';

export interface ChannelField {
  readonly key: string;
  readonly meaning: string;
  /** `secret`: names a stored credential; `needed`: has no default; `owner`: who needs no pairing. */
  readonly asks: 'secret' | 'needed' | 'owner' | 'nothing';
  readonly schema: z.ZodType;
}

export interface ChannelForm {
  readonly name: string;
  readonly meaning: string;
  readonly fields: readonly ChannelField[];
  /** Checks settings and fills in defaults. */
  readonly schema: z.ZodType;
}

export function channelForms(machine: Machine): readonly ChannelForm[] {
  const channels: Readonly<Record<string, z.ZodType>> = configSchema(machine).shape.channels.unwrap().shape;
  return Object.entries(channels).flatMap(([name, schema]) => {
    const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
    if (!(inner instanceof z.ZodObject)) return [];
    const shape: Readonly<Record<string, z.ZodType>> = inner.shape;
    const fields = Object.entries(shape).map(([key, field]) => ({
      key,
      meaning: field.description ?? key,
      asks: asksOf(key, field),
      schema: field,
    }));
    return [{ name, meaning: schema.description ?? name, fields, schema: inner }];
  });
}

function asksOf(key: string, field: z.ZodType): ChannelField['asks'] {
  if (/(^|_)secret$/.test(key)) return field.safeParse(undefined).success ? 'secret' : 'needed';
  if (key === 'allow') return 'owner';
  return field.safeParse(undefined).success ? 'nothing' : 'needed';
}

/** The name under which a credential is stored: the default of its setting. */
export function secretName(field: ChannelField): string {
  return z.string().catch('').parse(field.schema.safeParse(undefined).data);
}
