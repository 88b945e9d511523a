/** Gathers the facts for `geode status`: from the running host, or from this machine if there is none. */

import { localUser } from '../../base/identity.ts';
import type { GeodeClient, RemoteRuntime } from '../../client/client.ts';
import type { Config } from '../../config/schema.ts';
import { currentHost } from '../../machine/host-lock.ts';
import type { HostFacts } from '../../machine/named-host.ts';
import type { Approval } from '../../seams/approval.ts';
import type { ChannelStatus } from '../../seams/channel.ts';
import type { ProviderKind } from '../../seams/model.ts';
import type { SandboxStatus } from '../../seams/persistent.ts';
import type { CliContext } from '../command.ts';
import { askRunningHost } from './running-api.ts';

/** A sandbox without a chat, such as a blank one of the pool, has only an id. */
export type SandboxLine =
  | SandboxStatus
  | { readonly id: string; readonly runtime: string; readonly grade?: string; readonly state: string };

interface ProviderState {
  readonly name: string;
  readonly kind: ProviderKind;
  /** `missing`: it names a secret that is not stored; `none`: it has no key, which some do not need. */
  readonly key: 'secret' | 'config' | 'none' | 'missing';
}

export interface StatusFacts {
  readonly host: HostFacts | null;
  /** The runtime of sandboxes; null if none works. */
  readonly runtime: string | null;
  readonly runtimes: readonly RemoteRuntime[];
  readonly channels: readonly ChannelStatus[];
  readonly providers: { readonly default: string | null; readonly services: readonly ProviderState[] };
  /** US dollars spent today (UTC) by the caller. */
  readonly budget: { readonly limitUsd: number | null; readonly spentUsd: number };
  readonly approvals: readonly Approval[];
  readonly sandboxes: readonly SandboxLine[];
}

type Live = Pick<StatusFacts, 'runtimes' | 'channels' | 'budget' | 'approvals' | 'sandboxes'>;

export async function gatherStatus(context: CliContext): Promise<StatusFacts> {
  const { config } = await context.loaded();
  const asked = await askRunningHost(context, localUser, (client) => fromHost(client, context), 'anything');
  const live = asked?.answer ?? (await fromMachine(context));
  const geode = await context.geode();
  const chosen = await geode.runtime().then(
    ({ name }) => name,
    () => null,
  );
  const host = currentHost(config.sandbox.state_dir) ?? null;
  return { host, runtime: chosen, ...live, providers: await providersOf(config) };
}

async function fromHost(client: GeodeClient, { signal }: CliContext): Promise<Live> {
  const [runtimes, channels, usage, approvals, sandboxes] = await Promise.all([
    client.runtimes({ signal }),
    client.chats.channels({ signal }),
    client.egress.usage({ signal }),
    client.approvals.list({ signal }),
    client.sandboxes.list({ users: 'all', signal }),
  ]);
  const { limitUsd, spentUsd } = usage.budget;
  return { runtimes, channels, budget: { limitUsd, spentUsd }, approvals, sandboxes };
}

/** The facts without a host: no channel is connected and no approval is open. */
async function fromMachine({ geode: open, loaded }: CliContext): Promise<Live> {
  const geode = await open();
  const { daily_budget: limitUsd } = (await loaded()).config.providers;
  const probed = await geode.probe();
  const owned = await geode.listOffline();
  const isOwned = (id: string) => owned.some((each) => each.id === id);
  const others = geode.runtimes.map(async (runtime) =>
    (await runtime.list())
      .filter(({ id }) => !isOwned(id))
      .map(({ id, grade, state }) => ({ id, grade, state, runtime: runtime.name })),
  );
  return {
    runtimes: probed.map(({ runtime, found }) => ({ name: runtime.name, ...found })),
    channels: [],
    budget: { limitUsd, spentUsd: 0 },
    approvals: [],
    sandboxes: [...owned, ...(await Promise.all(others)).flat()],
  };
}

async function providersOf(config: Config): Promise<StatusFacts['providers']> {
  const { storedSecret } = await import('../../host/stored-secret.ts');
  const { services, default: usual } = config.providers;
  const states = Object.entries(services).map(([name, { kind, secret, api_key: key }]): ProviderState => {
    if (secret === undefined) return { name, kind, key: key === undefined ? 'none' : 'config' };
    return { name, kind, key: storedSecret(config, secret) === undefined ? 'missing' : 'secret' };
  });
  return { default: usual ?? null, services: states };
}
