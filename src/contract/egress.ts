/** Network policies, network requests and names of secrets, in wire format. */

import { z } from 'zod';
import { egressModes } from '../seams/egress.ts';
import { decimal } from './decimal.ts';
import { family, notFound } from './operation.ts';

const port = z.int().min(1).max(65_535);
const hostName = z.string().min(1).max(300);
const bindingName = z.string().min(1).max(48).meta({ example: 'anthropic' });

const methods = z.array(z.string().max(20)).min(1).max(32);
const paths = z.array(z.string().max(2048)).min(1).max(64);

const ruleSchema = z
  .strictObject({
    host: hostName.describe('`example.com`, `*.example.com` (not example.com itself) or an address.'),
    ports: z.array(port).min(1).max(64).optional().describe('Default: 80 and 443.'),
    methods: methods.optional().describe('For plain HTTP, and for HTTPS with `inspect`.'),
    paths: paths.optional().describe('For plain HTTP, and for HTTPS with `inspect`.'),
    inspect: z
      .boolean()
      .optional()
      .describe("The host decrypts TLS with a certificate of the sandbox's own CA."),
    private: z
      .boolean()
      .optional()
      .describe('Allow a private address: needs the scope `admin`, one host and one port.'),
    until: z.int().nonnegative().optional().describe('When the rule ends, in ms since 1970.'),
    from: z.string().max(64).optional().describe('The preset that contains the rule.'),
  })
  .meta({ id: 'EgressRule' });

const ruleWordSchema = z
  .union([z.string().min(1).max(2500), ruleSchema])
  .describe(
    'A rule, or words for it: `npm`, `*.example.com:8443`, `GET http://example.com/api/*`, `inspect:GET https://example.com/api/*`; `*`: all.',
  )
  .meta({ example: 'pypi' });

const rulesSchema = z.array(ruleWordSchema).max(1000);
const bridgesSchema = z.array(z.strictObject({ port, to: z.strictObject({ host: hostName, port }) })).max(32);
const bindingSchema = z.strictObject({
  name: bindingName,
  upstream: z
    .string()
    .max(2000)
    .optional()
    .describe("Replaces the service's own URL; needs the scope `admin`."),
  add: z
    .string()
    .max(80)
    .optional()
    .describe('`bearer`, `basic`, `header:NAME` or `query:NAME`: how the secret is sent.'),
  methods: methods.optional().describe('Default: all methods.'),
  paths: paths.optional().describe('Default: all paths below the upstream.'),
  inspect: z.boolean().optional().describe("Also add the credential to calls of the upstream's https URL."),
});

const bindingWord = z
  .string()
  .min(1)
  .max(4000)
  .describe('A name, or a text such as `tickets=https://api.example.com add=bearer methods=GET inspect`.')
  .meta({ example: 'anthropic' });

export const egressSchema = z
  .strictObject({
    mode: z.enum(egressModes).optional().describe('Default: derived from the allowed rules.'),
    allow: rulesSchema.optional(),
    deny: rulesSchema.optional().describe('A deny rule always wins.'),
    bridges: bridgesSchema.optional().describe('Local ports in the sandbox that forward to an allowed host.'),
    bindings: z
      .array(z.union([bindingWord, bindingSchema]))
      .max(32)
      .optional(),
  })
  .describe("The network policy. Default: the user's default, or the config's.")
  .meta({ id: 'Egress' });

export const noNetworkSchema = z
  .literal('none')
  .describe('No proxy either: requests fail without a reason and are not recorded. Default: refusals are.');

export const egressStateSchema = z
  .object({
    mode: z.enum(egressModes),
    allow: z.array(ruleSchema),
    deny: z.array(ruleSchema),
    bridges: bridgesSchema,
    bindings: z.array(bindingSchema),
  })
  .meta({ id: 'EgressState' });

const egressDefaultSchema = egressStateSchema
  .extend({
    from: z
      .enum(['user', 'config', 'nothing'])
      .describe('Where it was set; `nothing`: not set, so everything is denied.'),
  })
  .meta({ id: 'EgressDefault' });

export const egressChangeSchema = z
  .strictObject({
    rules: rulesSchema.min(1),
    for_ms: z
      .int()
      .positive()
      .max(10 * 365 * 24 * 3_600_000)
      .optional()
      .describe('How long the rules last from now. Default: permanently.'),
  })
  .meta({ id: 'EgressChange' });

export const askSchema = z
  .strictObject({ on: z.boolean().describe('false: deny hosts that no rule covers.') })
  .meta({ id: 'AskForEgress' });

export const learnedSchema = z
  .strictObject({
    apply: z.boolean().default(true).describe('false: only return the policy and continue to learn.'),
  })
  .meta({ id: 'LearnedEgress' });

const grantTarget = { host: hostName, port };
const grantsSchema = z
  .object({
    grants: z.array(
      z.object({
        ...grantTarget,
        sandbox_id: z.string().nullable().describe('null: all sandboxes and runs of the caller.'),
        private: z.boolean(),
        granted_at: z.number().describe('In ms since 1970.'),
        until: z.number().nullable().describe('null: permanently.'),
        approval: z.string().describe('Id of the approval, which names who allowed it.'),
      }),
    ),
  })
  .meta({ id: 'EgressGrants' });
const removedGrantsSchema = z.object({ removed: z.int() }).meta({ id: 'RemovedEgressGrants' });
const grantQuery = z.strictObject({ host: hostName, port: decimal(port) });

const egressLogQuery = z.strictObject({
  sandbox: z.string().max(200).optional().describe('Id of a sandbox or run, even a removed one.'),
  verdict: z.enum(['allowed', 'denied', 'failed']).optional(),
  since: decimal(z.int().nonnegative().optional()).describe('In ms since 1970.'),
  words: z.string().max(500).optional().describe('A part of the host, the path or the rule.'),
  limit: decimal(z.int().min(1).max(1000).default(100)),
  users: z
    .literal('all')
    .optional()
    .describe("Of all users: only on the host's own socket, for the operator."),
});

const egressLogSchema = z
  .object({
    records: z.array(
      z.object({
        at: z.number(),
        sandbox_id: z.string(),
        user: z.string(),
        via: z.enum(['http', 'connect', 'socks', 'bridge', 'binding', 'inspected']),
        verdict: z.enum(['allowed', 'denied', 'failed']),
        rule: z.string(),
        host: z.string(),
        port: z.int(),
        method: z.string().nullable(),
        path: z.string().nullable(),
        address: z.string().nullable().describe('The address that was dialled; null if none was.'),
        status: z.int().nullable(),
        bytes_out: z.int(),
        bytes_in: z.int(),
        duration_ms: z.number(),
      }),
    ),
  })
  .meta({ id: 'EgressLog' });

const egressUsageQuery = z.strictObject({
  day: z.iso.date().optional().describe('The day in UTC. Default: today.'),
});

const egressUsageSchema = z
  .object({
    usage: z.array(
      z.object({
        day: z.string(),
        user: z.string(),
        binding: z.string(),
        model: z.string(),
        calls: z.int(),
        input_tokens: z.int(),
        output_tokens: z.int(),
        cached_tokens: z.int(),
        cost_usd: z.number(),
      }),
    ),
    budget: z
      .object({ day: z.string(), limit_usd: z.number().nullable(), spent_usd: z.number() })
      .describe('For today (UTC); null: no limit.'),
  })
  .meta({ id: 'EgressUsage' });

const bindingsSchema = z
  .object({
    bindings: z.array(
      z.object({
        name: z.string(),
        upstream: z.string().nullable().describe('null: the binding names it.'),
        needs_secret: z.boolean(),
        ready: z.boolean().describe('true if its secret is set or it needs no secret.'),
        metered: z.boolean().describe('true if tokens are counted and the budget applies.'),
        variables: z.array(z.string()).describe('Environment variables that tools in the sandbox read.'),
      }),
    ),
  })
  .meta({ id: 'Bindings' });

export const secretParams = z.object({ name: bindingName });
export const newSecretSchema = z
  .strictObject({ value: z.string().min(8).max(16_384).meta({ format: 'password' }) })
  .meta({ id: 'NewSecret' });
const secretSchema = z.object({
  name: z.string(),
  created_at: z.number().describe('Times are in ms since 1970.'),
  changed_at: z.number(),
});
export const secretsSchema = z.object({ secrets: z.array(secretSchema) }).meta({ id: 'Secrets' });
export const rotatedSchema = z
  .object({ sealed: z.int().describe('Number of secrets, of all users.') })
  .meta({ id: 'RotatedSecrets' });

export const egress = family({
  log: {
    route: 'GET /api/v1/egress/log',
    tag: 'egress',
    scope: 'sandboxes:read',
    summary: 'List network requests, newest first',
    description:
      "Allowed and refused requests of the caller's sandboxes and runs, without bodies, headers and queries.",
    query: egressLogQuery,
    answer: { description: 'The records.', schema: egressLogSchema, field: 'records' },
  },
  usage: {
    route: 'GET /api/v1/egress/usage',
    tag: 'egress',
    scope: 'sandboxes:read',
    summary: "Show model use through bindings and today's budget",
    query: egressUsageQuery,
    answer: { description: 'Tokens and cost by model, most expensive first.', schema: egressUsageSchema },
  },
  bindings: {
    route: 'GET /api/v1/egress/bindings',
    tag: 'egress',
    scope: 'sandboxes:read',
    summary: 'List services that a sandbox can be bound to',
    answer: {
      description: 'The services with their variables. Their keys stay outside the sandbox.',
      schema: bindingsSchema,
      field: 'bindings',
    },
  },
  default: {
    route: 'GET /api/v1/egress/default',
    tag: 'egress',
    scope: 'sandboxes:read',
    summary: 'Get the default network policy',
    answer: { description: 'The policy, and where it was set.', schema: egressDefaultSchema },
  },
  setDefault: {
    route: 'PUT /api/v1/egress/default',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: 'Set the default network policy',
    description:
      'Sandboxes that are there keep what they have. Private addresses and the upstream of a binding need the scope `admin`.',
    body: { description: 'The complete policy.', schema: egressSchema },
    answer: { description: 'The policy now.', schema: egressDefaultSchema },
    refuses: notFound,
  },
  clearDefault: {
    route: 'DELETE /api/v1/egress/default',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: "Reset the default network policy to the config's",
    answer: { description: 'The policy now.', schema: egressDefaultSchema },
  },
  grants: {
    route: 'GET /api/v1/egress/grants',
    tag: 'egress',
    scope: 'sandboxes:read',
    summary: 'List permissions that the caller gave when asked',
    description: 'They apply where the mode is `ask`.',
    answer: { description: 'Newest first, without expired ones.', schema: grantsSchema, field: 'grants' },
  },
  removeGrant: {
    route: 'DELETE /api/v1/egress/grants',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: 'Remove permissions and close their connections',
    query: grantQuery,
    answer: {
      description: 'The number of removed permissions.',
      schema: removedGrantsSchema,
      field: 'removed',
    },
  },
});
