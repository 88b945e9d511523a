/** Dashboard login, in wire format. */

import { z } from 'zod';
import { userPattern } from '../base/identity.ts';
import { scopes } from './keys.ts';
import { family, usualRefusals } from './operation.ts';

const loginSchema = z
  .strictObject({
    code: z
      .string()
      .min(1)
      .max(200)
      .describe('The code of the link that `geode dashboard` prints. It works once.'),
    path: z
      .string()
      .max(500)
      .regex(/^\/(?:[\w.~-]+\/)*$/)
      .optional()
      .describe('The path of the page behind a proxy. Default: `/`.'),
  })
  .meta({ id: 'Login' });

const sessionSchema = z
  .object({
    user: z.string(),
    scopes: z.array(z.enum(scopes)),
    version: z.string().describe('The version of Geode.'),
    expires_at: z.iso.datetime().nullable().describe('null for a key, or if no login is needed.'),
  })
  .meta({ id: 'Session' });

const newLinkSchema = z
  .strictObject({ user: z.string().regex(userPattern).optional().describe('Default: the caller.') })
  .meta({ id: 'NewLoginLink' });

const linkSchema = z
  .object({ url: z.string().describe('The link; it works once.'), expires_at: z.iso.datetime() })
  .meta({ id: 'LoginLink' });

export type WireSession = z.infer<typeof sessionSchema>;

export const session = family({
  login: {
    route: 'POST /login',
    tag: 'dashboard',
    scope: 'nobody',
    summary: 'Log in to the dashboard with the code of a link',
    body: { description: 'The code; it works once.', schema: loginSchema },
    done: 'The cookie is set (HttpOnly, this site only).',
    refuses: usualRefusals,
  },
  show: {
    route: 'GET /session',
    tag: 'dashboard',
    scope: 'any',
    summary: 'Get the current user and scopes',
    answer: { description: 'The user and the scopes.', schema: sessionSchema },
  },
  logout: {
    route: 'DELETE /session',
    tag: 'dashboard',
    scope: 'any',
    summary: 'Log out',
    done: 'The session is closed and its cookie invalid.',
  },
  link: {
    route: 'POST /api/v1/login-links',
    tag: 'dashboard',
    scope: 'admin',
    summary: 'Create a one-time link to the dashboard',
    body: { description: 'The user who logs in.', schema: newLinkSchema },
    answer: { description: 'The link. It is shown only here.', schema: linkSchema, status: 201 },
    refuses: { 409: 'The request is not valid.' },
  },
});
