import type { ChannelStatus } from '../core/channel.ts';
import { clientOfHost } from '../host/host-client.ts';
import type { HostFacts } from '../ledger/named-host.ts';
import { agoText } from './render/ages.ts';
import { printableLine } from './render/printable.ts';

/** The channels of the host that runs; none where there is no host, or one that does not answer. */
export async function channelStates(host: HostFacts | undefined): Promise<readonly ChannelStatus[]> {
  const api = host?.serves?.api;
  if (api === undefined) return [];
  try {
    const client = await clientOfHost(api);
    return (await client?.chats.channels({ signal: AbortSignal.timeout(5_000) })) ?? [];
  } catch {
    return [];
  }
}

/** A row for people: deaf since when, and why. */
export function channelRow({ channel, state, since, lastError }: ChannelStatus): readonly string[] {
  const shown = since === null ? state : `${state} since ${agoText(since)}`;
  return [`  ${channel}`, shown, lastError === null ? '' : `last error: ${printableLine(lastError)}`];
}
