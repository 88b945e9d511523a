/** egressPolicy. */

import { askSchema, egressChangeSchema, egressSchema, egressStateSchema, learnedSchema } from './egress.ts';
import { family } from './operation.ts';
import { chatParams } from './sandboxes.ts';

export const egressPolicy = family({
  get: {
    route: 'GET /api/v1/sandboxes/{chat}/egress',
    tag: 'egress',
    scope: 'sandboxes:read',
    summary: 'Get the network policy of a sandbox',
    params: chatParams,
    answer: { description: 'Its policy and its bindings.', schema: egressStateSchema },
    reaches: 'sandbox',
  },
  set: {
    route: 'PUT /api/v1/sandboxes/{chat}/egress',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: 'Replace the network policy of a sandbox',
    description:
      'Connections that are open and do not pass any more are cut. Private addresses and the upstream of a binding need the scope `admin`, unless they are there already.',
    params: chatParams,
    body: { description: 'The complete policy.', schema: egressSchema },
    answer: { description: 'The policy now.', schema: egressStateSchema },
    reaches: 'sandbox',
  },
  allow: {
    route: 'POST /api/v1/sandboxes/{chat}/egress/allow',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: 'Allow hosts for a sandbox',
    description: 'Takes effect at once. Allowing a rule removes the identical deny rule.',
    params: chatParams,
    body: { description: 'The hosts, and for how long.', schema: egressChangeSchema },
    answer: { description: 'The policy now.', schema: egressStateSchema },
    reaches: 'sandbox',
  },
  deny: {
    route: 'POST /api/v1/sandboxes/{chat}/egress/deny',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: 'Deny hosts for a sandbox',
    description: 'Takes effect at once; deny always wins. `*` denies everything.',
    params: chatParams,
    body: { description: 'The hosts, and for how long.', schema: egressChangeSchema },
    answer: { description: 'The policy now.', schema: egressStateSchema },
    reaches: 'sandbox',
  },
  ask: {
    route: 'POST /api/v1/sandboxes/{chat}/egress/ask',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: 'Ask the user about hosts that no rule covers',
    description:
      'Each such connection becomes an approval of the kind `egress` and is denied when nobody answers in time.',
    params: chatParams,
    body: { description: 'Whether to ask.', schema: askSchema },
    answer: { description: 'The policy now.', schema: egressStateSchema },
    reaches: 'sandbox',
  },
  learn: {
    route: 'POST /api/v1/sandboxes/{chat}/egress/learn',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: 'Allow every public address and record what is reached',
    params: chatParams,
    answer: { description: 'The policy now.', schema: egressStateSchema },
    reaches: 'sandbox',
    refuses: {
      413: 'The body or a field in it is too large.',
      415: 'The Content-Type is not one that this path takes.',
    },
  },
  learned: {
    route: 'POST /api/v1/sandboxes/{chat}/egress/learned',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: 'Make the recorded addresses the policy',
    params: chatParams,
    body: { description: 'Whether to apply it.', schema: learnedSchema },
    answer: { description: 'The policy now.', schema: egressStateSchema },
    reaches: 'sandbox',
  },
});
