import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import type { PolicyWords } from '../../egress/policy/change-policy.ts';

export const networkSchema = z.strictObject({
  allow_internet_access: z.boolean().nullish(),
  allowOut: z.array(z.string()).nullish(),
  denyOut: z.array(z.string()).nullish(),
  /** False: servers in the sandbox need its token. */
  allowPublicTraffic: z.boolean().nullish(),
  maskRequestHost: z
    .string()
    .min(1)
    .max(300)
    .regex(/^[\x21-\x7e]+$/)
    .nullish(),
  rules: z.undefined({ error: 'Header rules are not supported: use a binding.' }).optional(),
  egressProxy: z.undefined({ error: 'Custom proxies are not supported.' }).optional(),
});

const everything = '0.0.0.0/0';

/**
 * Translates E2B network settings into a policy; undefined without settings: then the user's default policy applies.
 * In E2B an allow rule wins over a deny rule, in Geode a deny rule wins. Settings where this matters are refused.
 */
export function wordsOf({
  allow_internet_access: internet,
  allowOut,
  denyOut,
}: z.output<typeof networkSchema>): PolicyWords | undefined {
  const allow = (allowOut ?? []).filter((host) => host !== everything);
  const deny = (denyOut ?? []).filter((host) => host !== everything);
  const isClosed = internet === false || (denyOut ?? []).includes(everything);
  if (allow.length > 0 && deny.length > 0)
    throw new GeodeError('cannot_enforce', 'In Geode a deny rule wins over every allow rule.', {
      hint: 'Deny everything (0.0.0.0/0) and allow what is needed, or deny some and allow the rest.',
    });
  if (allow.length > 0) return { mode: 'allow-list', allow };
  if ((allowOut ?? []).includes(everything)) return { mode: 'allow-all', deny };
  if (isClosed) return { mode: 'deny-all' };
  if (deny.length > 0) return { mode: 'allow-all', deny };
  return internet === true ? { mode: 'allow-all' } : undefined;
}
