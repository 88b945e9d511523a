/** Logging in to the dashboard, as it goes over the wire. */

import { z } from 'zod';
import { userPattern } from '../base/identity.ts';
import { scopes } from './keys.ts';
import { family, usualRefusals } from './operation.ts';

const loginSchema = z
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

const sessionSchema = z
  .object({
    user: z.string(),
    scopes: z.array(z.enum(scopes)),
    version: z.string().describe("Geode's own."),
    expires_at: z.iso.datetime().nullable().describe('null: a key, or no login is needed.'),
  })
  .meta({ id: 'Session' });

const newLinkSchema = z
  .strictObject({ user: z.string().regex(userPattern).optional().describe('The caller by default.') })
  .meta({ id: 'NewLoginLink' });

const linkSchema = z
  .object({ url: z.string().describe('Opens the dashboard once.'), expires_at: z.iso.datetime() })
  .meta({ id: 'LoginLink' });

export type WireSession = z.infer<typeof sessionSchema>;
export type WireLoginLink = z.infer<typeof linkSchema>;

export const session = family({
  login: {
    route: 'POST /login',
    tag: 'dashboard',
    scope: 'nobody',
    summary: 'Open a session of the dashboard with the code of a link',
    body: { says: 'The code, which is good for once.', schema: loginSchema },
    done: 'The cookie is set: HttpOnly, for this site only.',
    refuses: usualRefusals,
  },
  show: {
    route: 'GET /session',
    tag: 'dashboard',
    scope: 'any',
    summary: 'Who asks, and what they may do',
    answer: { says: 'The user and the scopes.', schema: sessionSchema },
  },
  logout: {
    route: 'DELETE /session',
    tag: 'dashboard',
    scope: 'any',
    summary: 'End the session of this browser',
    done: 'The cookie is worth nothing from now on.',
  },
  link: {
    route: 'POST /api/v1/login-links',
    tag: 'dashboard',
    scope: 'admin',
    summary: 'Make a link that opens the dashboard once',
    body: { says: 'Whose dashboard.', schema: newLinkSchema },
    answer: { says: 'The only answer that holds the link.', schema: linkSchema, status: 201 },
    refuses: { 409: 'The request is not valid.' },
  },
});
