/** What sandboxes may reach, what they tried, and the names of credentials, as they go over the wire. */

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
    ports: z.array(port).min(1).max(64).optional().describe('Left out: 80 and 443.'),
    methods: methods.optional().describe('Of plain HTTP, and of HTTPS with `inspect`.'),
    paths: paths.optional().describe('Of plain HTTP, and of HTTPS with `inspect`.'),
    inspect: z
      .boolean()
      .optional()
      .describe("The host opens its TLS with a certificate of the sandbox's own authority."),
    private: z
      .boolean()
      .optional()
      .describe('It may lead to a private address: needs the scope `admin`, one host and one port.'),
    until: z.int().nonnegative().optional().describe('In ms since 1970; it counts for nothing afterwards.'),
    from: z.string().max(64).optional().describe('The preset that it comes from.'),
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
  upstream: z.string().max(2000).optional().describe('Another one than its own: needs the scope `admin`.'),
  add: z
    .string()
    .max(80)
    .optional()
    .describe('`bearer`, `basic`, `header:NAME` or `query:NAME`: how the secret goes out.'),
  methods: methods.optional().describe('Left out: every one.'),
  paths: paths.optional().describe('Left out: every one below the upstream.'),
  inspect: z.boolean().optional().describe("Calls of the upstream's own https URL get the credential too."),
});

const bindingWord = z
  .string()
  .min(1)
  .max(4000)
  .describe('A name, or words: `tickets=https://api.example.com add=bearer methods=GET inspect`.')
  .meta({ example: 'anthropic' });

export const egressSchema = z
  .strictObject({
    mode: z.enum(egressModes).optional().describe('Left out: what the allowed rules come to.'),
    allow: rulesSchema.optional(),
    deny: rulesSchema.optional().describe('A deny rule always wins.'),
    bridges: bridgesSchema.optional().describe('Ports inside that lead to an allowed host.'),
    bindings: z
      .array(z.union([bindingWord, bindingSchema]))
      .max(32)
      .optional(),
  })
  .describe('What it may reach. Left out: the default of the user, or what the config says.')
  .meta({ id: 'Egress' });

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
      .describe('Who said so; `nothing`: nobody, and nothing passes.'),
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
      .describe('They count that long from now. Left out: for good.'),
  })
  .meta({ id: 'EgressChange' });

export const askSchema = z
  .strictObject({ on: z.boolean().describe('false: what no rule names is denied at once again.') })
  .meta({ id: 'AskForEgress' });

export const learnedSchema = z
  .strictObject({
    apply: z.boolean().default(true).describe('false: only say what it would be, and go on learning.'),
  })
  .meta({ id: 'LearnedEgress' });

const grantTarget = { host: hostName, port };
const grantsSchema = z
  .object({
    grants: z.array(
      z.object({
        ...grantTarget,
        sandbox_id: z.string().nullable().describe('null: for all sandboxes and runs of the caller.'),
        private: z.boolean(),
        granted_at: z.number().describe('In ms since 1970.'),
        until: z.number().nullable().describe('null: for good.'),
        approval: z.string().describe('Which says who allowed it.'),
      }),
    ),
  })
  .meta({ id: 'EgressGrants' });
const removedGrantsSchema = z.object({ removed: z.int() }).meta({ id: 'RemovedEgressGrants' });
const grantQuery = z.strictObject({ host: hostName, port: decimal(port) });

const egressLogQuery = z.strictObject({
  sandbox: z.string().max(200).optional().describe('The id of a sandbox or a run, also of one that is gone.'),
  verdict: z.enum(['allowed', 'denied', 'failed']).optional(),
  since: decimal(z.int().nonnegative().optional()).describe('In ms since 1970.'),
  words: z.string().max(500).optional().describe('A part of the host, the path or the rule.'),
  limit: decimal(z.int().min(1).max(1000).default(100)),
  users: z
    .literal('all')
    .optional()
    .describe("Those of all users: only on the host's own socket, for whoever runs it."),
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
        address: z.string().nullable().describe('That was dialled; null: none was.'),
        status: z.int().nullable(),
        bytes_out: z.int(),
        bytes_in: z.int(),
        duration_ms: z.number(),
      }),
    ),
  })
  .meta({ id: 'EgressLog' });

const egressUsageQuery = z.strictObject({
  day: z.iso.date().optional().describe('UTC. Left out: today.'),
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
      .describe('Of today (UTC). null: no limit.'),
  })
  .meta({ id: 'EgressUsage' });

const bindingsSchema = z
  .object({
    bindings: z.array(
      z.object({
        name: z.string(),
        upstream: z.string().nullable().describe('null: it is named with the binding.'),
        needs_secret: z.boolean(),
        ready: z.boolean().describe('Its secret is set, or it needs none.'),
        metered: z.boolean().describe('Tokens are counted and the budget holds.'),
        variables: z.array(z.string()).describe('What tools in the sandbox read.'),
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
  .object({ sealed: z.int().describe('How many secrets, of all users.') })
  .meta({ id: 'RotatedSecrets' });

export type WireEgressDefault = z.infer<typeof egressDefaultSchema>;
export type WireEgressState = z.infer<typeof egressStateSchema>;
export type WireGrants = z.infer<typeof grantsSchema>;
export type WireEgressLog = z.infer<typeof egressLogSchema>;
export type WireEgressUsage = z.infer<typeof egressUsageSchema>;
export type WireBindings = z.infer<typeof bindingsSchema>;
export type WireSecrets = z.infer<typeof secretsSchema>;

export const egress = family({
  log: {
    route: 'GET /api/v1/egress/log',
    tag: 'egress',
    scope: 'sandboxes:read',
    summary: 'What crossed and what was refused, newest first',
    description: "Of the caller's own sandboxes and runs. No bodies, no headers, no queries.",
    query: egressLogQuery,
    answer: { says: 'The records.', schema: egressLogSchema, field: 'records' },
  },
  usage: {
    route: 'GET /api/v1/egress/usage',
    tag: 'egress',
    scope: 'sandboxes:read',
    summary: 'What models were used through bindings, and the budget of today',
    query: egressUsageQuery,
    answer: { says: 'Tokens and cost by model, dearest first.', schema: egressUsageSchema },
  },
  bindings: {
    route: 'GET /api/v1/egress/bindings',
    tag: 'egress',
    scope: 'sandboxes:read',
    summary: 'Services that a sandbox can be bound to, whose keys stay outside',
    answer: { says: 'Each with its variables.', schema: bindingsSchema, field: 'bindings' },
  },
  default: {
    route: 'GET /api/v1/egress/default',
    tag: 'egress',
    scope: 'sandboxes:read',
    summary: 'What new sandboxes and runs of the caller may reach that name nothing',
    answer: { says: 'It, and who said so.', schema: egressDefaultSchema },
  },
  setDefault: {
    route: 'PUT /api/v1/egress/default',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: 'Say what new sandboxes and runs of the caller may reach that name nothing',
    description:
      'Sandboxes that are there keep what they have. Private addresses and the upstream of a binding need the scope `admin`.',
    body: { says: 'All that they may reach.', schema: egressSchema },
    answer: { says: 'What holds now.', schema: egressDefaultSchema },
    refuses: notFound,
  },
  clearDefault: {
    route: 'DELETE /api/v1/egress/default',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: 'Let what the config says hold again for new sandboxes and runs of the caller',
    answer: { says: 'What holds now.', schema: egressDefaultSchema },
  },
  grants: {
    route: 'GET /api/v1/egress/grants',
    tag: 'egress',
    scope: 'sandboxes:read',
    summary: 'What the caller allowed when asked, for one sandbox or for good',
    description: 'Counts where the mode is `ask`.',
    answer: { says: 'Newest first, without those that are over.', schema: grantsSchema, field: 'grants' },
  },
  removeGrant: {
    route: 'DELETE /api/v1/egress/grants',
    tag: 'egress',
    scope: 'sandboxes:write',
    summary: 'Take back what was allowed; what is open is cut',
    query: grantQuery,
    answer: { says: 'How many there were.', schema: removedGrantsSchema, field: 'removed' },
  },
});
