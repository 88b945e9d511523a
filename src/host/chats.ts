import { openTelegram } from '../chat/channels/telegram/telegram.ts';
import { type OpenChatsOptions, openChats } from '../chat/open-chats.ts';
import type { Config } from '../config/schema.ts';
import type { Channel } from '../core/channel.ts';
import type { Chats } from '../core/chat.ts';
import { GeodeError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { storedSecret } from './stored-secret.ts';

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
  const { chat, channels: platforms, providers, sandbox } = config;
  return openChats({
    ...parts,
    stateDir: sandbox.state_dir,
    channels: channels === 'all' ? await openChannels(config, parts.log) : [],
    allowed: { telegram: platforms.telegram?.allow ?? {} },
    pairingMs: chat.pairing_minutes * 60_000,
    concurrency: chat.concurrency,
    mostPerUser: chat.per_user,
    messagesPerMinute: chat.messages_per_minute,
    mostFileBytes: chat.file_size,
    timeZone: chat.time_zone,
    dailyBudget: { usd: providers.daily_budget, tokens: providers.daily_tokens },
    duringTurn: chat.during_turn,
  });
}

async function openChannels(config: Config, log: Log): Promise<readonly Channel[]> {
  const { telegram } = config.channels;
  if (telegram === undefined) return [];
  return [
    await openTelegram({
      token: tokenOf(config, 'telegram', telegram.secret),
      apiUrl: telegram.api_url,
      groups: telegram.groups,
      log: log.child({ channel: 'telegram' }),
    }),
  ];
}

function tokenOf(config: Config, channel: string, name: string): string {
  const token = storedSecret(config, name);
  if (token !== undefined) return token;
  throw new GeodeError('secret_missing', `The token of channels.${channel} is not stored as ${name}.`, {
    hint: `Store it with geode secrets set ${name} < FILE, or remove channels.${channel}.`,
  });
}
