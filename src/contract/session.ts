/** Logging in to the dashboard, as it goes over the wire. */
import { z } from 'zod';
import { userPattern } from '../core/identity.ts';
import { scopes } from './keys.ts';

export const loginSchema = z
  .strictObject({
    code: z.string().min(1).max(200).describe('From the link that `geode dashboard` prints; good for once.'),
    path: z
      .string()
      .max(500)
      .regex(/^\/(?:[\w.~-]+\/)*$/)
      .optional()
      .describe('Where the page is, behind a proxy that serves it under a path; `/` by default.'),
  })
  .meta({ id: 'Login' });

export const sessionSchema = z
  .object({
    user: z.string(),
    scopes: z.array(z.enum(scopes)),
    version: z.string().describe("Geode's own."),
    expires_at: z.iso.datetime().nullable().describe('null: a key, or no login is needed.'),
  })
  .meta({ id: 'Session' });

export const newLinkSchema = z
  .strictObject({ user: z.string().regex(userPattern).optional().describe('The caller by default.') })
  .meta({ id: 'NewLoginLink' });

export const linkSchema = z
  .object({ url: z.string().describe('Opens the dashboard once.'), expires_at: z.iso.datetime() })
  .meta({ id: 'LoginLink' });

export type WireSession = z.infer<typeof sessionSchema>;
export type WireLoginLink = z.infer<typeof linkSchema>;
