/** A command in a fresh sandbox, which ends with the command or the connection. */
import type { sockets } from '../../contract/sockets.ts';
import { hatchSpecOf } from '../../seams/egress.ts';
import type { SandboxSpec } from '../../seams/sandbox.ts';
import type { Call } from '../call.ts';
import { checkNetwork, newEgress } from '../egress-reach.ts';
import type { ApiParts } from '../environment.ts';
import { checkReach } from '../sandbox-of.ts';
import type { Talk } from '../sockets.ts';
import { untilAborted } from '../until-aborted.ts';
import { commandOf } from './command.ts';
import { placeOf, talkOf } from './process-talk.ts';

export async function freshExec(
  talk: Talk<typeof sockets.freshExec>,
  call: Call,
  open: NonNullable<ApiParts['open']>,
  host: ApiParts['egress'],
): Promise<void> {
  const first = await talk.first();
  if (first === undefined) return;
  const { type: _, sandbox: wanted, ...given } = first;
  const { runtime, egress: words, network, ...spec } = wanted;
  checkReach(call, { runtime, limits: spec.limits });
  const { user } = call.caller;
  checkNetwork(network, words);
  const asked = words && newEgress(call, host, words);
  const initial = network === undefined ? host?.initial(user) : undefined;
  const signal = AbortSignal.any([talk.signal, call.stopping]);
  await using sandbox = await open(spec, {
    ...(runtime !== undefined && { runtime }),
    onPull: (event) => void talk.send(event),
    signal,
  });
  const egress = hatchSpecOf(asked ?? initial, sandbox, network);
  using hatch = egress && (await host?.open(sandbox, { sandboxId: sandbox.id, user }, egress, { signal }));
  const command = commandOf(given);
  const startedAt = Date.now();
  const process = await sandbox.spawn(
    { ...command, env: { ...without(hatch?.env, spec.env), ...command.env } },
    { signal },
  );
  const reach =
    hatch === undefined ? {} : { hatch: hatch.enforced ? ('enforced' as const) : ('advice' as const) };
  const place = { ...placeOf(sandbox), ...reach };
  await talk.send({ type: 'process', id: process.id, pid: process.pid, offset: 0, sandbox: place });
  const denials = () => sandbox.hatch?.denials(startedAt) ?? [];
  await talkOf(talk, process, untilAborted(process, signal), denials);
}

/** Fields that the caller set explicitly keep their value. */
function without(added: SandboxSpec['env'] = {}, own: SandboxSpec['env'] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(added).filter(([name]) => !Object.hasOwn(own, name)));
}
