/** What the caller's sandboxes and runs tried to reach, what it cost, and what they can be bound to. */

import {
  bindingsSchema,
  egressDefaultSchema,
  egressLogQuery,
  egressLogSchema,
  egressSchema,
  egressUsageQuery,
  egressUsageSchema,
  grantQuery,
  grantsSchema,
  removedGrantsSchema,
} from '../../../contract/egress.ts';
import { fromWire, toWire } from '../../../contract/names.ts';
import { GeodeError } from '../../../core/errors.ts';
import { knownBindings } from '../../../egress/bindings.ts';
import type { EgressDefault, EgressHost } from '../../../egress/open-egress.ts';
import { newEgress } from '../../egress-reach.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  json,
  jsonBody,
  limitEntryBody,
  notFoundRefusal,
  refusals,
  security,
} from '../../route.ts';
import { stateOf } from './state.ts';

const tags = ['egress'];
const defaultPath = '/api/v1/egress/default';

export function egressRoutes(host: EgressHost) {
  return [
    defineRoute(
      {
        method: 'get',
        path: '/api/v1/egress/log',
        summary: 'What crossed and what was refused, newest first',
        description: "Of the caller's own sandboxes and runs. No bodies, no headers, no queries.",
        tags,
        security,
        middleware: requireScope('sandboxes:read'),
        request: { query: egressLogQuery },
        responses: { 200: json('The records.', egressLogSchema), ...refusals },
      },
      (context) => {
        const { caller } = context.var;
        const { sandbox, verdict, since, words, limit, users } = context.req.valid('query');
        if (users === 'all' && caller.actsFor !== 'anyone')
          throw new GeodeError('forbidden', "The log of all users is shown on the host's own socket only");
        const records = host.search({
          ...(users !== 'all' && { user: caller.user }),
          limit,
          ...(sandbox !== undefined && { sandboxId: sandbox }),
          ...(verdict !== undefined && { verdict }),
          ...(since !== undefined && { since }),
          ...(words !== undefined && { words }),
        });
        return context.json({ records: records.map((record) => toWire(record)) }, 200);
      },
    ),
    defineRoute(
      {
        method: 'get',
        path: '/api/v1/egress/usage',
        summary: 'What models were used through bindings, and the budget of today',
        tags,
        security,
        middleware: requireScope('sandboxes:read'),
        request: { query: egressUsageQuery },
        responses: { 200: json('Tokens and cost by model, dearest first.', egressUsageSchema), ...refusals },
      },
      (context) => {
        const { user } = context.var.caller;
        const usage = host.usage(user, context.req.valid('query').day).map((sum) => toWire(sum));
        return context.json({ usage, budget: toWire(host.budget(user)) }, 200);
      },
    ),
    defineRoute(
      {
        method: 'get',
        path: '/api/v1/egress/bindings',
        summary: 'Services that a sandbox can be bound to, whose keys stay outside',
        tags,
        security,
        middleware: requireScope('sandboxes:read'),
        responses: { 200: json('Each with its variables.', bindingsSchema), ...refusals },
      },
      (context) => {
        const known = new Set(host.secrets.list(context.var.caller.user).map(({ name }) => name));
        const bindings = knownBindings().map((binding) => ({
          ...binding,
          ready: !binding.needsSecret || known.has(binding.name),
        }));
        return context.json({ bindings: bindings.map((binding) => toWire(binding)) }, 200);
      },
    ),
    defineRoute(
      {
        method: 'get',
        path: defaultPath,
        summary: 'What new sandboxes and runs of the caller may reach that name nothing',
        tags,
        security,
        middleware: requireScope('sandboxes:read'),
        responses: { 200: json('It, and who said so.', egressDefaultSchema), ...refusals },
      },
      (context) => context.json(shownDefault(host.defaultOf(context.var.caller.user)), 200),
    ),
    defineRoute(
      {
        method: 'put',
        path: defaultPath,
        summary: 'Say what new sandboxes and runs of the caller may reach that name nothing',
        description:
          'Sandboxes that are there keep what they have. Private addresses and the upstream of a binding need the scope `admin`.',
        tags,
        security,
        middleware: [requireScope('sandboxes:write'), limitEntryBody],
        request: { body: jsonBody('All that they may reach.', egressSchema) },
        responses: {
          200: json('What holds now.', egressDefaultSchema),
          ...refusals,
          ...bodyRefusals,
          ...notFoundRefusal,
        },
      },
      (context) => {
        const { user } = context.var.caller;
        host.setDefault(user, newEgress(context, host, fromWire(context.req.valid('json'))));
        return context.json(shownDefault(host.defaultOf(user)), 200);
      },
    ),
    defineRoute(
      {
        method: 'delete',
        path: defaultPath,
        summary: 'Let what the config says hold again for new sandboxes and runs of the caller',
        tags,
        security,
        middleware: requireScope('sandboxes:write'),
        responses: { 200: json('What holds now.', egressDefaultSchema), ...refusals },
      },
      (context) => {
        const { user } = context.var.caller;
        host.setDefault(user, undefined);
        return context.json(shownDefault(host.defaultOf(user)), 200);
      },
    ),
    defineRoute(
      {
        method: 'get',
        path: '/api/v1/egress/grants',
        summary: 'What the caller allowed when asked, for one sandbox or for good',
        description: 'Counts where the mode is `ask`.',
        tags,
        security,
        middleware: requireScope('sandboxes:read'),
        responses: { 200: json('Newest first, without those that are over.', grantsSchema), ...refusals },
      },
      (context) => {
        const grants = host.grants(context.var.caller.user);
        return context.json({ grants: grants.map((grant) => toWire(grant)) }, 200);
      },
    ),
    defineRoute(
      {
        method: 'delete',
        path: '/api/v1/egress/grants',
        summary: 'Take back what was allowed; what is open is cut',
        tags,
        security,
        middleware: requireScope('sandboxes:write'),
        request: { query: grantQuery },
        responses: { 200: json('How many there were.', removedGrantsSchema), ...refusals },
      },
      (context) => {
        const removed = host.removeGrant(context.var.caller.user, context.req.valid('query'));
        return context.json({ removed }, 200);
      },
    ),
  ] as const;
}

function shownDefault({ from, spec }: EgressDefault) {
  return { from, ...stateOf(spec) };
}
