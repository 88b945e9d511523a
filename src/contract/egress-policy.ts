/** egressPolicy. */

import { askSchema, egressChangeSchema, egressSchema, egressStateSchema, learnedSchema } from './egress.ts';
import { family } from './operation.ts';
import { chatParams } from './sandboxes.ts';

export const egressPolicy = family({
  get: {
    route: 'GET /api/v1/sandboxes/{chat}/egress',
    tag: 'egress',
    scope: 'sandboxes:read',
    summary: 'What a sandbox may reach',
    params: chatParams,
    answer: { says: 'Its policy and its bindings.', schema: egressStateSchema },
    reaches: 'sandbox',
  },
  set: {
    route: 'PUT /api/v1/sandboxes/{chat}/egress',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: 'Replace what a sandbox may reach, at once',
    description:
      'Connections that are open and do not pass any more are cut. Private addresses and the upstream of a binding need the scope `admin`, unless they are there already.',
    params: chatParams,
    body: { says: 'All that it may reach.', schema: egressSchema },
    answer: { says: 'What it may reach now.', schema: egressStateSchema },
    reaches: 'sandbox',
  },
  allow: {
    route: 'POST /api/v1/sandboxes/{chat}/egress/allow',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: 'Let a sandbox reach more, at once',
    description: 'What is allowed by the very words that deny it is denied no more.',
    params: chatParams,
    body: { says: 'Which hosts, and for how long.', schema: egressChangeSchema },
    answer: { says: 'What it may reach now.', schema: egressStateSchema },
    reaches: 'sandbox',
  },
  deny: {
    route: 'POST /api/v1/sandboxes/{chat}/egress/deny',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: 'Keep a sandbox from hosts, at once; deny always wins',
    description: '`*`: it may reach nothing any more.',
    params: chatParams,
    body: { says: 'Which hosts, and for how long.', schema: egressChangeSchema },
    answer: { says: 'What it may reach now.', schema: egressStateSchema },
    reaches: 'sandbox',
  },
  ask: {
    route: 'POST /api/v1/sandboxes/{chat}/egress/ask',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: 'Hold what no rule decides until the user has answered',
    description:
      'Each such connection becomes an approval of the kind `egress` and is denied when nobody answers in time.',
    params: chatParams,
    body: { says: 'Whether it asks.', schema: askSchema },
    answer: { says: 'What it may reach now.', schema: egressStateSchema },
    reaches: 'sandbox',
  },
  learn: {
    route: 'POST /api/v1/sandboxes/{chat}/egress/learn',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: 'Let a sandbox reach every public address, and write down what it reaches',
    params: chatParams,
    answer: { says: 'What it may reach now.', schema: egressStateSchema },
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
    summary: 'The smallest policy that lets pass what was written down; from now on it holds',
    params: chatParams,
    body: { says: 'Whether it is to hold.', schema: learnedSchema },
    answer: { says: 'What it may reach now.', schema: egressStateSchema },
    reaches: 'sandbox',
  },
});
