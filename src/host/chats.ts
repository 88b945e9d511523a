import { type OpenChatsOptions, openChats } from '../chat/open-chats.ts';
import type { Config } from '../config/schema.ts';
import type { Chats } from '../core/chat.ts';
import { openChannels } from './channels.ts';

interface ChatHostParts
  extends Pick<OpenChatsOptions, 'agents' | 'approvals' | 'sandboxes' | 'events' | 'log'> {
  /** `all`: also the platforms of the config; `web`: only what the API serves. */
  readonly channels: 'all' | 'web';
}

/** The chats of the config. */
export async function openConfiguredChats(
  config: Config,
  { channels, ...parts }: ChatHostParts,
): Promise<Chats> {
  const { chat, channels: platforms, providers, sandbox, container_agent: container } = config;
  return openChats({
    ...parts,
    stateDir: sandbox.state_dir,
    postgres: chat.postgres,
    channels: channels === 'all' ? await openChannels(config, parts.log) : [],
    allowed: Object.fromEntries(Object.entries(platforms).map(([name, each]) => [name, each?.allow ?? {}])),
    pairingMs: chat.pairing_minutes * 60_000,
    concurrency: container.enabled ? container.concurrency : chat.concurrency,
    mostPerUser: chat.per_user,
    messagesPerMinute: chat.messages_per_minute,
    mostFileBytes: chat.file_size,
    timeZone: chat.time_zone,
    dailyBudget: { usd: providers.daily_budget, tokens: providers.daily_tokens },
    duringTurn: chat.during_turn,
  });
}
