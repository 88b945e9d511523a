/** Solves and crystals, in wire format. */

import { z } from 'zod';
import { solveOutcomes } from '../seams/solve.ts';
import { decimal } from './decimal.ts';
import { egressSchema } from './egress.ts';
import { family, notFound } from './operation.ts';
import { problemEvent } from './problem.ts';

const filesSchema = z.record(z.string(), z.string());

const solveRequestSchema = z
  .strictObject({
    problem: z.string().min(1).meta({ example: 'Print the first ten prime numbers, one on a line.' }),
    language: z.string().optional().describe('Default: the model chooses.'),
    tests: z
      .string()
      .optional()
      .describe('A program in the same language that fails when the solution is wrong.'),
    expect: z.string().optional().describe('The output that the solution must print.'),
    judge: z.boolean().optional().describe('Let a model judge a result that no test checks.'),
    files: filesSchema.optional().describe('Text files by path, next to the code.'),
    attempts: z.int().min(1).max(10).optional().describe('Maximum attempts. Default: 3.'),
    budget: z
      .number()
      .nonnegative()
      .nullable()
      .optional()
      .describe('Maximum cost of this problem in US dollars.'),
    model: z.string().optional().describe('SERVICE/MODEL. Default: the configured one.'),
    egress: egressSchema
      .optional()
      .describe('Registries to install packages from. The solution itself runs without a network.'),
  })
  .meta({ id: 'SolveRequest' });

const usageSchema = z.object({ input_tokens: z.int(), cached_tokens: z.int(), output_tokens: z.int() });

const verdictSchema = z
  .object({
    label: z.enum(['verified', 'unverified', 'failed']),
    by: z.enum(['tests', 'expected-output', 'own-checks', 'judge', 'exit-code']),
    reason: z.string(),
  })
  .meta({ id: 'Verdict' });

const reflectionSchema = z.object({ analysis: z.string(), cause: z.string(), change: z.string() });

const installationSchema = z.object({
  packages: z.array(z.string()),
  succeeded: z.boolean(),
  duration_ms: z.number(),
  output: z.string(),
});

const attemptSchema = z
  .object({
    number: z.int(),
    origin: z.enum(['model', 'crystal']),
    state: z.enum(['running', 'interrupted', 'passed', 'failed']),
    language: z.string().nullable(),
    code: z.string().nullable(),
    files: filesSchema,
    checks: z.string().nullable(),
    dependencies: z.array(z.string()),
    installation: installationSchema.nullable().describe('Its time does not count as run time.'),
    run: z
      .object({
        outcome: z.string(),
        exit_code: z.int().nullable(),
        stdout: z.string(),
        stderr: z.string(),
        duration_ms: z.number(),
        signature: z.string().nullable(),
      })
      .nullable(),
    verdict: verdictSchema.nullable(),
    reflection: reflectionSchema.nullable(),
    usage: usageSchema,
    cost: z.number().describe('US dollars.'),
    started_at: z.string(),
    ended_at: z.string().nullable(),
  })
  .meta({ id: 'Attempt' });

const resultSchema = z
  .object({
    id: z.string(),
    outcome: z.enum(solveOutcomes),
    reason: z.string(),
    code: z.string().nullable(),
    language: z.string().nullable(),
    files: filesSchema,
    verdict: verdictSchema.nullable(),
    attempts: z.int(),
    usage: usageSchema,
    cost: z.number(),
    crystal: z.string().nullable(),
  })
  .meta({ id: 'SolveResult' });

const solveSchema = z
  .object({
    id: z.string(),
    problem: z.string(),
    created_at: z.string(),
    state: z.enum(['running', 'interrupted', 'done']),
    result: resultSchema.nullable(),
    attempts: z.array(attemptSchema).describe('Empty in a list.'),
  })
  .meta({ id: 'Solve' });

const solvesSchema = z.object({ solves: z.array(solveSchema) });
const solveParams = z.object({ id: z.string().min(1).max(200) });
const solveListQuery = z.strictObject({ limit: decimal(z.int().min(1).max(200).default(50)) });

const solveEventSchema = z
  .union([
    z.object({ type: z.literal('solve-start'), id: z.string() }),
    z.object({
      type: z.literal('recalled'),
      crystals: z.array(z.object({ key: z.string(), problem: z.string() })),
      entries: z.array(z.object({ key: z.string() })),
    }),
    z.object({ type: z.literal('attempt-start'), attempt: z.int(), origin: z.enum(['model', 'crystal']) }),
    z.object({ type: z.literal('code-delta'), attempt: z.int(), text: z.string() }),
    z.object({ type: z.literal('code'), attempt: z.int(), language: z.string(), code: z.string() }),
    z.object({ type: z.literal('install'), attempt: z.int(), installation: installationSchema }),
    z.object({
      type: z.literal('run-output'),
      attempt: z.int(),
      stream: z.enum(['stdout', 'stderr']),
      text: z.string(),
    }),
    z.object({ type: z.literal('verdict'), attempt: z.int(), verdict: verdictSchema }),
    z.object({ type: z.literal('reflection'), attempt: z.int(), reflection: reflectionSchema }),
    z.object({
      type: z.literal('crystal'),
      key: z.string(),
      change: z.enum(['created', 'confirmed', 'doubted']),
    }),
    resultSchema.extend({ type: z.literal('result') }),
    problemEvent,
  ])
  .meta({ id: 'SolveEvent' });

const crystalSchema = z
  .object({
    key: z.string(),
    problem: z.string(),
    errors: z.array(z.string()),
    solution: z.string(),
    language: z.string(),
    files: filesSchema,
    dependencies: z.array(z.string()),
    tags: z.array(z.string()),
    retries: z.int(),
    verification: z.string(),
    check: z
      .object({
        tests: z.string().nullable(),
        expect: z.string().nullable(),
        checks: z.string().nullable(),
        files: filesSchema.describe('The files of the problem.'),
      })
      .describe('The check that verifies it again.'),
    solve: z.string(),
    at: z.string(),
    used_at: z.string().nullable().describe('When it was last correct or useful.'),
    successes: z.int(),
    failures: z.int(),
    last_failure: z.string().nullable(),
    broken: z.boolean().describe('It failed its last verification.'),
    pinned: z.boolean(),
    trust: z.number().describe('From 0 to 1.'),
    standing: z
      .enum(['pinned', 'trusted', 'distrusted', 'unused'])
      .describe('`distrusted` and `unused` crystals are kept but not recalled.'),
  })
  .meta({ id: 'Crystal' });

const crystalsSchema = z.object({ crystals: z.array(crystalSchema) });
const crystalParams = z.object({ key: z.string().min(1).max(512) });
const crystalChangeSchema = z.strictObject({
  pinned: z.boolean().optional(),
  problem: z.string().min(1).max(4_000).optional(),
  solution: z.string().min(1).max(20_000).optional(),
  tests: z.string().max(20_000).nullable().optional(),
  expect: z.string().max(20_000).nullable().optional(),
});
const crystalVerifySchema = z.strictObject({
  egress: egressSchema.optional().describe('Registries to install its packages from.'),
});
const verifiedCrystalSchema = z
  .object({ crystal: crystalSchema, verdict: verdictSchema })
  .meta({ id: 'VerifiedCrystal' });

export const solves = family({
  solve: {
    route: 'POST /api/v1/solve',
    tag: 'solve',
    scope: 'runs',
    summary: 'Solve a problem by writing and running code',
    description: 'Stops if the caller disconnects; it can be resumed.',
    body: { description: 'The problem and its checks.', schema: solveRequestSchema },
    stream: {
      description: 'The progress; the last event is `result` or `problem`.',
      schema: solveEventSchema,
    },
    refuses: { 402: 'The budget for models is spent.', 409: 'No model is set.' },
  },
  resume: {
    route: 'POST /api/v1/solve/{id}/resume',
    tag: 'solve',
    scope: 'runs',
    summary: 'Resume an interrupted solve',
    params: solveParams,
    stream: {
      description: 'The progress; the last event is `result` or `problem`.',
      schema: solveEventSchema,
    },
    refuses: { 402: 'The budget for models is spent.', ...notFound, 409: 'No model is set.' },
  },
  list: {
    route: 'GET /api/v1/solve',
    tag: 'solve',
    scope: 'runs',
    summary: 'List solves, newest first',
    query: solveListQuery,
    answer: { description: 'The solves without their attempts.', schema: solvesSchema, field: 'solves' },
  },
  get: {
    route: 'GET /api/v1/solve/{id}',
    tag: 'solve',
    scope: 'runs',
    summary: 'Get a solve with its attempts',
    params: solveParams,
    answer: { description: 'The solve.', schema: solveSchema },
    refuses: notFound,
  },
});

export const crystals = family({
  list: {
    route: 'GET /api/v1/crystals',
    tag: 'solve',
    scope: 'memory:read',
    summary: 'List saved solutions (crystals), newest first',
    answer: { description: 'The crystals.', schema: crystalsSchema, field: 'crystals' },
  },
  get: {
    route: 'GET /api/v1/crystals/{key}',
    tag: 'solve',
    scope: 'memory:read',
    summary: 'Get a crystal',
    params: crystalParams,
    answer: { description: 'The crystal.', schema: crystalSchema },
    refuses: notFound,
  },
  change: {
    route: 'PATCH /api/v1/crystals/{key}',
    tag: 'solve',
    scope: 'memory:write',
    summary: 'Pin or edit a crystal',
    params: crystalParams,
    body: { description: 'The changes.', schema: crystalChangeSchema },
    answer: { description: 'The crystal.', schema: crystalSchema },
    refuses: notFound,
  },
  verify: {
    route: 'POST /api/v1/crystals/{key}/verify',
    tag: 'solve',
    scope: ['memory:write', 'runs'],
    summary: 'Run a crystal against its check again',
    description: 'The verdict changes its trust; a crystal that passes is recalled again.',
    params: crystalParams,
    body: { description: 'Registries for its packages, if it needs any.', schema: crystalVerifySchema },
    answer: { description: 'The verdict and the crystal.', schema: verifiedCrystalSchema },
    reaches: 'sandbox',
  },
  remove: {
    route: 'DELETE /api/v1/crystals/{key}',
    tag: 'solve',
    scope: 'memory:write',
    summary: 'Remove a crystal',
    params: crystalParams,
    done: 'The crystal was removed.',
    refuses: notFound,
  },
});
