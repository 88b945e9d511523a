import type { Context } from 'hono';
import { fromWire, toWire } from '../../../contract/names.ts';
import { freshExecMessageSchema } from '../../../contract/sockets.ts';
import type { SandboxSpec } from '../../../core/sandbox.ts';
import type { Conversation } from '../../conversation.ts';
import { newEgress } from '../../egress-reach.ts';
import type { ApiEnv, ApiParts } from '../../environment.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, sandboxRefusals, security, socketAnswers } from '../../route.ts';
import { checkReach } from '../../sandbox-of.ts';
import { untilAborted } from '../../until-aborted.ts';
import { converse } from '../../upgrade.ts';
import { commandOf } from './command.ts';
import { processMessage, talk } from './sockets.ts';

type Open = NonNullable<ApiParts['open']>;

export function freshExec(open: Open, host: ApiParts['egress']) {
  return defineRoute(
    {
      method: 'get',
      path: '/api/v1/exec',
      summary: 'Run a command in a fresh sandbox over a WebSocket',
      description:
        'The first message is a `FreshExecMessage`. Then messages are those of the socket that runs a command in a sandbox that stays; before them may come `pull-progress`. The sandbox ends with the command, and with the connection.',
      tags: ['processes'],
      security,
      middleware: requireScope('runs'),
      responses: { ...socketAnswers, ...sandboxRefusals },
    },
    (context) => converse(context, (conversation) => runFresh(context, open, host, conversation)),
  );
}

async function runFresh(
  context: Context<ApiEnv>,
  open: Open,
  host: ApiParts['egress'],
  conversation: Conversation,
): Promise<void> {
  const first = await conversation.first(freshExecMessageSchema);
  if (first === undefined) return;
  const { type: _, sandbox: wanted, ...wire } = first;
  const { runtime, egress: asked, ...spec } = fromWire(wanted);
  checkReach(context, { runtime, limits: spec.limits });
  const egress =
    asked === undefined ? host?.initial(context.var.caller.user) : newEgress(context, host, asked);
  const signal = AbortSignal.any([conversation.signal, context.var.stopping]);
  await using sandbox = await open(spec, {
    ...(runtime !== undefined && { runtime }),
    onPull: (event) => void conversation.say(toWire(event)),
    signal,
  });
  const owner = { sandboxId: sandbox.id, user: context.var.caller.user };
  using hatch = egress && (await host?.open(sandbox, owner, egress, { signal }));
  const command = commandOf(wire);
  const startedAt = Date.now();
  const process = await sandbox.spawn(
    { ...command, env: { ...without(hatch?.env, spec.env), ...command.env } },
    { signal },
  );
  const said = processMessage(process, sandbox);
  const reach = hatch === undefined ? {} : { hatch: hatch.enforced ? 'enforced' : 'advice' };
  await conversation.say({ ...said, sandbox: { ...said.sandbox, ...reach } });
  await talk(
    conversation,
    process,
    untilAborted(process, signal),
    () => sandbox.hatch?.denials(startedAt) ?? [],
  );
}

/** What was asked for by name stays as it was asked for. */
function without(added: SandboxSpec['env'] = {}, own: SandboxSpec['env'] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(added).filter(([name]) => !Object.hasOwn(own, name)));
}
