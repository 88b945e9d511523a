/** What one sandbox may reach. */
import type { Context } from 'hono';
import {
  askSchema,
  egressChangeSchema,
  egressSchema,
  egressStateSchema,
  learnedSchema,
} from '../../../contract/egress.ts';
import { fromWire } from '../../../contract/names.ts';
import { chatParams } from '../../../contract/sandboxes.ts';
import { type EgressPolicy, type EgressSpec, reachesNothing } from '../../../core/egress.ts';
import { GeodeError } from '../../../core/errors.ts';
import { allowing, denying } from '../../../egress/change-policy.ts';
import type { EgressHost } from '../../../egress/open-egress.ts';
import { changedEgress, egressOf } from '../../egress-reach.ts';
import type { ApiEnv } from '../../environment.ts';
import { signalOf } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  json,
  jsonBody,
  limitEntryBody,
  sandboxRefusals,
  security,
} from '../../route.ts';
import { stateOf } from './state.ts';

const path = '/api/v1/sandboxes/{chat}/egress';
const tags = ['egress'];
const changes = {
  200: json('What it may reach now.', egressStateSchema),
  ...sandboxRefusals,
  ...bodyRefusals,
};

export function policyRoutes(host: EgressHost) {
  const change = async (context: Context<ApiEnv>, chat: string, next: (before: EgressSpec) => EgressSpec) => {
    const spec = await context.var.sandboxes.changeEgress(
      chat,
      (before) => changedEgress(context, host, before, next(before)),
      { signal: signalOf(context) },
    );
    return stateOf(spec);
  };
  const changePolicy = (
    context: Context<ApiEnv>,
    chat: string,
    next: (policy: EgressPolicy) => EgressPolicy,
  ) => change(context, chat, ({ policy, bindings }) => ({ policy: next(policy), bindings }));
  return [
    defineRoute(
      {
        method: 'get',
        path,
        summary: 'What a sandbox may reach',
        tags,
        security,
        middleware: requireScope('sandboxes:read'),
        request: { params: chatParams },
        responses: { 200: json('Its policy and its bindings.', egressStateSchema), ...sandboxRefusals },
      },
      async (context) => {
        const spec = await context.var.sandboxes.egress(context.req.valid('param').chat);
        return context.json(stateOf(spec), 200);
      },
    ),
    defineRoute(
      {
        method: 'put',
        path,
        summary: 'Replace what a sandbox may reach, at once',
        description:
          'Connections that are open and do not pass any more are cut. Private addresses and the upstream of a binding need the scope `admin`, unless they are there already.',
        tags,
        security,
        middleware: [requireScope('sandboxes:write'), limitEntryBody],
        request: { params: chatParams, body: jsonBody('All that it may reach.', egressSchema) },
        responses: changes,
      },
      async (context) => {
        const asked = egressOf(fromWire(context.req.valid('json')));
        return context.json(await change(context, context.req.valid('param').chat, () => asked), 200);
      },
    ),
    defineRoute(
      {
        method: 'post',
        path: `${path}/allow`,
        summary: 'Let a sandbox reach more, at once',
        description: 'What is allowed by the very words that deny it is denied no more.',
        tags,
        security,
        middleware: [requireScope('sandboxes:write'), limitEntryBody],
        request: { params: chatParams, body: jsonBody('Which hosts, and for how long.', egressChangeSchema) },
        responses: changes,
      },
      async (context) => {
        const { rules, forMs } = fromWire(context.req.valid('json'));
        const { chat } = context.req.valid('param');
        const state = await changePolicy(context, chat, (policy) => allowing(policy, rules, untilOf(forMs)));
        return context.json(state, 200);
      },
    ),
    defineRoute(
      {
        method: 'post',
        path: `${path}/deny`,
        summary: 'Keep a sandbox from hosts, at once; deny always wins',
        description: '`*`: it may reach nothing any more.',
        tags,
        security,
        middleware: [requireScope('sandboxes:write'), limitEntryBody],
        request: { params: chatParams, body: jsonBody('Which hosts, and for how long.', egressChangeSchema) },
        responses: changes,
      },
      async (context) => {
        const { rules, forMs } = fromWire(context.req.valid('json'));
        const { chat } = context.req.valid('param');
        const state = await changePolicy(context, chat, (policy) => denying(policy, rules, untilOf(forMs)));
        return context.json(state, 200);
      },
    ),
    defineRoute(
      {
        method: 'post',
        path: `${path}/ask`,
        summary: 'Hold what no rule decides until the user has answered',
        description:
          'Each such connection becomes an approval of the kind `egress` and is denied when nobody answers in time.',
        tags,
        security,
        middleware: [requireScope('sandboxes:write'), limitEntryBody],
        request: { params: chatParams, body: jsonBody('Whether it asks.', askSchema) },
        responses: changes,
      },
      async (context) => {
        const { on } = context.req.valid('json');
        const state = await changePolicy(context, context.req.valid('param').chat, (policy) => ({
          ...policy,
          mode: on ? 'ask' : policy.allow.length === 0 ? 'deny-all' : 'allow-list',
        }));
        return context.json(state, 200);
      },
    ),
    defineRoute(
      {
        method: 'post',
        path: `${path}/learn`,
        summary: 'Let a sandbox reach every public address, and write down what it reaches',
        tags,
        security,
        middleware: requireScope('sandboxes:write'),
        request: { params: chatParams },
        responses: changes,
      },
      async (context) => {
        const { chat } = context.req.valid('param');
        const { id } = await context.var.sandboxes.inspect(chat);
        host.beginLearning(id);
        return context.json(
          await changePolicy(context, chat, (policy) => ({ ...policy, mode: 'learn' })),
          200,
        );
      },
    ),
    defineRoute(
      {
        method: 'post',
        path: `${path}/learned`,
        summary: 'The smallest policy that lets pass what was written down; from now on it holds',
        tags,
        security,
        middleware: [requireScope('sandboxes:write'), limitEntryBody],
        request: { params: chatParams, body: jsonBody('Whether it is to hold.', learnedSchema) },
        responses: changes,
      },
      async (context) => {
        const { chat } = context.req.valid('param');
        const { id } = await context.var.sandboxes.inspect(chat);
        const { policy, bindings } = (await context.var.sandboxes.egress(chat)) ?? reachesNothing;
        if (policy.mode !== 'learn')
          throw new GeodeError('invalid_input', 'Nothing is learned from this sandbox.', {
            hint: 'geode egress learn CHAT begins it.',
          });
        if (!context.req.valid('json').apply)
          return context.json(stateOf({ policy: host.learned(id, policy), bindings }), 200);
        const state = await changePolicy(context, chat, (before) => host.learned(id, before));
        host.beginLearning(id);
        return context.json(state, 200);
      },
    ),
  ] as const;
}

function untilOf(forMs: number | undefined): number | undefined {
  return forMs === undefined ? undefined : Date.now() + forMs;
}
