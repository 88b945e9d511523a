/** `/sandboxes`: E2B's control plane. */
import { randomBytes } from 'node:crypto';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { callOf } from '../../api/call.ts';
import { changedEgress, egressOf, newEgress } from '../../api/egress-reach.ts';
import type { ApiEnv, ApiParts } from '../../api/environment.ts';
import { startedSandbox } from '../../api/sandbox-of.ts';
import { signalOf } from '../../api/streams.ts';
import { GeodeError, isGeodeError, reasonOf } from '../../base/errors.ts';
import type { EgressSpec } from '../../seams/egress.ts';
import type { PersistentSpec, SandboxStatus } from '../../seams/persistent.ts';
import { bodyOf } from '../json-body.ts';
import type { E2bSandbox } from './e2b-table.ts';
import { defaultLifetimeMs, longestTimeoutMs } from './lifetimes.ts';
import { networkSchema, wordsOf } from './network.ts';
import type { E2b } from './open-e2b.ts';
import { factsOf, metricsOf, openedAnswer, stateOf } from './sandbox-facts.ts';

/** Pulling an image may take long. */
const longestMakingMs = 900_000;
const mostForks = 20;
const mostListed = 100;

const seconds = z
  .int()
  .min(0)
  .max(longestTimeoutMs / 1000);
const refused = (what: string) => z.undefined({ error: `${what} is not supported.` }).optional();
const newSandbox = z.strictObject({
  templateID: z.string().min(1).max(200),
  timeout: seconds.nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  envVars: z.record(z.string(), z.string()).nullish(),
  allow_internet_access: z.boolean().nullish(),
  network: networkSchema.nullish(),
  autoPause: z.boolean().nullish(),
  autoPauseMemory: z.boolean().nullish(),
  autoResume: z.object({ enabled: z.boolean() }).nullish(),
  /** Every sandbox needs its token here. */
  secure: z.boolean().nullish(),
  volumeMounts: refused('Volumes'),
  mcp: refused("E2B's MCP gateway"),
  iam: refused('IAM'),
});
const timed = z.object({ timeout: seconds.nullish() });

/** Templates of every host: the runtime's default image. */
const usualTemplates = ['base', 'code-interpreter-v1', 'code-interpreter-stateful'];

export function sandboxRoutes(door: Hono<ApiEnv>, e2b: E2b, egress: ApiParts['egress']): void {
  for (const prefix of ['', '/v2']) {
    door.post(`${prefix}/sandboxes`, async (context) => {
      const wanted = await bodyOf(context, newSandbox);
      const made = await create(context, e2b, egress, wanted);
      return context.json(openedAnswer(e2b, made), 201);
    });
    door.get(`${prefix}/sandboxes`, (context) => list(context, e2b));
    door.post(`${prefix}/sandboxes/:id/connect`, (context) => connect(context, e2b));
  }
  door.post('/sandboxes/:id/resume', (context) => connect(context, e2b));
  door.get('/sandboxes/:id', async (context) => {
    const known = find(context, e2b);
    const facts = factsOf(e2b, known, await inspected(context, known));
    const { onTimeout, autoResume } = known;
    const lifecycle = { onTimeout: onTimeout === 'kill' ? 'kill' : 'pause', autoResume };
    return context.json({ ...facts, envdAccessToken: e2b.tokens.of(known), lifecycle }, 200);
  });
  door.delete('/sandboxes/:id', async (context) => {
    const { id } = find(context, e2b);
    await context.var.sandboxes.remove(id, { signal: signalOf(context) });
    e2b.table.remove(id);
    return context.body(null, 204);
  });
  door.post('/sandboxes/:id/timeout', async (context) => {
    const { timeout } = await bodyOf(context, timed);
    const known = find(context, e2b);
    if (stateOf(await inspected(context, known)) === 'paused')
      throw new GeodeError('sandbox_paused', 'A paused sandbox has no timeout.');
    await e2b.lifetimes.set(known, msOf(timeout));
    return context.body(null, 204);
  });
  door.post('/sandboxes/:id/pause', (context) => pause(context, e2b));
  door.post('/sandboxes/:id/fork', (context) => forkAll(context, e2b));
  door.get('/sandboxes/:id/metrics', async (context) => {
    const known = find(context, e2b);
    const isPaused = stateOf(await inspected(context, known)) === 'paused';
    if (isPaused || !isNow(context, known)) return context.json([], 200);
    return context.json(
      await metricsOf(await startedSandbox(callOf(context), known.id), signalOf(context)),
      200,
    );
  });
  door.put('/sandboxes/:id/network', async (context) => {
    // As in E2B, a change without rules takes the earlier ones away.
    const words = wordsOf(await bodyOf(context, networkSchema)) ?? { mode: 'allow-all' };
    if (egress === undefined) throw new GeodeError('cannot_enforce', 'This server has no network policies.');
    const change = (before: EgressSpec) => {
      const next = { ...egressOf(words), bindings: before.bindings };
      return changedEgress(callOf(context), egress, before, next);
    };
    await context.var.sandboxes.changeEgress(find(context, e2b).id, change, { signal: signalOf(context) });
    return context.body(null, 204);
  });
}

async function create(
  context: Context<ApiEnv>,
  e2b: E2b,
  egress: ApiParts['egress'],
  wanted: z.output<typeof newSandbox>,
): Promise<E2bSandbox> {
  const { templateID: template, envVars, metadata, network, allow_internet_access: internet } = wanted;
  const words = wordsOf({ ...network, ...(internet != null && { allow_internet_access: internet }) });
  const spec: PersistentSpec = {
    ...(envVars && { env: envVars }),
    ...(words && { egress: newEgress(callOf(context), egress, words) }),
  };
  const made = newRow(context, template, {
    metadata: metadata ?? {},
    onTimeout: wanted.autoPause !== true ? 'kill' : wanted.autoPauseMemory === false ? 'stop' : 'pause',
    autoResume: wanted.autoResume?.enabled === true,
    isPrivate: network?.allowPublicTraffic === false,
    shownHost: network?.maskRequestHost ?? null,
  });
  const snapshot = e2b.table.get(context.var.caller.user, template);
  return await begin(context, e2b, { made, timeout: wanted.timeout }, async () => {
    if (snapshot?.kind === 'snapshot') await createFrom(context, snapshot, made, spec);
    else await createFresh(context, e2b, template, made, spec);
  });
}

async function createFresh(
  context: Context<ApiEnv>,
  { templates }: E2b,
  template: string,
  { id }: E2bSandbox,
  spec: PersistentSpec,
): Promise<void> {
  const [name = ''] = template.split(':', 1);
  const image = [template, name]
    .filter((each) => Object.hasOwn(templates, each))
    .map((each) => templates[each])[0];
  if (image === undefined && !usualTemplates.includes(name))
    throw new GeodeError('image_missing', `There is no template ${JSON.stringify(template)}.`, {
      hint: `Set its image in the config: "e2b": { "templates": { ${JSON.stringify(name)}: "IMAGE" } }.`,
    });
  await context.var.sandboxes.getOrCreate(
    id,
    { ...spec, ...(image && { image }) },
    { signal: signalOf(context) },
  );
}

async function createFrom(
  { var: { sandboxes } }: Context<ApiEnv>,
  snapshot: E2bSandbox,
  { id }: E2bSandbox,
  { env, egress }: PersistentSpec,
): Promise<void> {
  if (env !== undefined && Object.keys(env).length > 0)
    throw new GeodeError('cannot_enforce', 'A sandbox created from a snapshot keeps its variables.');
  await sandboxes.fork(snapshot.id, id);
  if (egress !== undefined) await sandboxes.changeEgress(id, () => egress);
}

/** Only the present is measured. A range in seconds that ends before or starts after it has no metrics. */
function isNow({ req }: Context<ApiEnv>, { startedAt }: E2bSandbox): boolean {
  const [start, end] = [req.query('start'), req.query('end')].map(
    (text) => Number(text || Number.NaN) * 1000,
  );
  return !((end ?? 0) < startedAt || (start ?? 0) > Date.now());
}

export function newRow(
  { var: { caller } }: Context<ApiEnv>,
  template: string,
  more: Partial<E2bSandbox> = {},
): E2bSandbox {
  return {
    ...{ id: newId(), user: caller.user, kind: 'sandbox', template, name: null, metadata: {} },
    ...{ startedAt: Date.now(), endAt: null, onTimeout: 'kill', autoResume: false },
    ...{ isPrivate: false, shownHost: null },
    ...more,
  };
}

/** Callers count in seconds. */
function msOf(timeout: number | null | undefined): number {
  return timeout == null ? defaultLifetimeMs : timeout * 1000;
}

/** Letters and digits only, because it may become part of a host name. */
function newId(): string {
  return `i${BigInt(`0x${randomBytes(12).toString('hex')}`)
    .toString(36)
    .padStart(19, '0')}`;
}

/** Recorded with its end before it is created, so a sandbox left by a killed host still ends in time. */
async function begin(
  { var: { sandboxes } }: Context<ApiEnv>,
  { table, lifetimes }: E2b,
  { made, timeout }: { readonly made: E2bSandbox; readonly timeout: number | null | undefined },
  make: () => Promise<void>,
): Promise<E2bSandbox> {
  table.add({ ...made, endAt: Date.now() + longestMakingMs + msOf(timeout) });
  try {
    await make();
    await lifetimes.set(made, msOf(timeout));
    return made;
  } catch (error) {
    await sandboxes.remove(made.id).catch(() => {});
    table.remove(made.id);
    throw error;
  }
}

/** Never shortens the lifetime of a running sandbox. A sandbox without saved memory starts again with its files. */
async function connect(context: Context<ApiEnv>, e2b: E2b): Promise<Response> {
  const known = find(context, e2b);
  const { timeout, memory } = await bodyOf(context, timed.extend({ memory: z.boolean().nullish() }));
  const wasRunning = stateOf(await inspected(context, known)) === 'running';
  if (memory === false && !wasRunning) await context.var.sandboxes.stop(known.id);
  await startedSandbox(callOf(context), known.id);
  const ms = msOf(timeout);
  if (!wasRunning || (known.endAt ?? 0) < Date.now() + ms) await e2b.lifetimes.set(known, ms);
  return context.json(openedAnswer(e2b, known), wasRunning ? 200 : 201);
}

async function pause(context: Context<ApiEnv>, e2b: E2b): Promise<Response> {
  const known = find(context, e2b);
  const { memory } = await bodyOf(context, z.object({ memory: z.boolean().nullish() }));
  if (stateOf(await inspected(context, known)) === 'paused')
    throw new GeodeError('sandbox_paused', 'The sandbox is already paused.');
  const cancel = { signal: signalOf(context) };
  // Without saved memory a sandbox keeps its files, but no processes.
  if (memory === false) await context.var.sandboxes.stop(known.id, cancel);
  else await context.var.sandboxes.pause(known.id, cancel);
  await e2b.lifetimes.set(known, null);
  return context.body(null, 204);
}

async function forkAll(context: Context<ApiEnv>, e2b: E2b): Promise<Response> {
  const source = find(context, e2b);
  const { timeout, count } = await bodyOf(
    context,
    timed.extend({ count: z.int().min(1).max(mostForks).default(1) }),
  );
  const results: object[] = [];
  for (let number = 0; number < count; number += 1) {
    const { template, metadata, onTimeout, autoResume, isPrivate, shownHost } = source;
    const more = { metadata, onTimeout, autoResume, isPrivate, shownHost };
    const made = newRow(context, template, more);
    try {
      await begin(context, e2b, { made, timeout }, async () => {
        await context.var.sandboxes.fork(source.id, made.id, { signal: signalOf(context) });
      });
      results.push({ sandbox: openedAnswer(e2b, made) });
    } catch (error) {
      const { status, message } = isGeodeError(error) ? error : { status: 500, message: reasonOf(error) };
      results.push({ error: { code: status, message } });
    }
  }
  return context.json(results, 201);
}

async function list(context: Context<ApiEnv>, e2b: E2b): Promise<Response> {
  const { var: vars, req } = context;
  const states = (req.queries('state') ?? []).flatMap((value) => value.split(','));
  const wanted = [...new URLSearchParams(req.query('metadata') ?? '')].map((pair) => pair.map(decoded));
  const limit = Math.min(Math.max(Number(req.query('limit') ?? mostListed) || mostListed, 1), mostListed);
  const from = Number(req.query('nextToken') ?? 0) || 0;
  const statuses = new Map(
    (await vars.sandboxes.list({ signal: signalOf(context) })).map((each) => [each.chat, each]),
  );
  const found = e2b.table
    .list(vars.caller.user)
    .filter(({ kind }) => kind === 'sandbox')
    .filter(({ metadata }) => wanted.every(([key = '', value]) => metadata[key] === value))
    .filter(({ template }) => req.query('template') === undefined || template === req.query('template'))
    .filter(({ startedAt }) => !(startedAt < Date.parse(req.query('startedAfter') ?? '')))
    .flatMap((known) => {
      const status = statuses.get(known.id);
      return status === undefined ? [] : [{ known, status }];
    })
    .filter(({ status }) => states.length === 0 || states.includes(stateOf(status)));
  if (req.query('order') !== 'asc') found.reverse();
  const page = found.slice(from, from + limit);
  if (found.length > from + limit) context.header('X-Next-Token', String(from + limit));
  return context.json(
    page.map(({ known, status }) => factsOf(e2b, known, status)),
    200,
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Finds a sandbox of the caller that was created through the E2B API. */
export function find({ req, var: { caller } }: Context<ApiEnv>, { table }: E2b): E2bSandbox {
  const id = req.param('id') ?? '';
  const known = table.get(caller.user, id);
  if (known?.kind === 'sandbox') return known;
  throw new GeodeError('sandbox_not_found', `There is no sandbox ${id}.`);
}

function inspected(context: Context<ApiEnv>, { id }: E2bSandbox): Promise<SandboxStatus> {
  return context.var.sandboxes.inspect(id, { signal: signalOf(context) });
}
