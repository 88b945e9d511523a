import { reasonOf } from '../base/errors.ts';
import { type OpenChatsOptions, openChats } from '../chat/open-chats.ts';
import type { Config } from '../config/schema.ts';
import type { Chats } from '../seams/chat.ts';
import type { Models } from '../seams/model.ts';
import { openChannels } from './channels.ts';
import { missingPrice } from './models.ts';

interface ChatHostParts
  extends Pick<OpenChatsOptions, 'agents' | 'approvals' | 'sandboxes' | 'events' | 'log' | 'telemetry'> {
  /** `all`: also the platforms of the config; `web`: only the chats of the API. */
  readonly channels: 'all' | 'web';
  readonly models: Models;
}

/** The chats of the config. */
export async function openConfiguredChats(
  config: Config,
  { channels, models, ...parts }: ChatHostParts,
): Promise<Chats> {
  const { chat, channels: platforms, providers, sandbox, container_agent: sandboxed } = config;
  const usual = config.agents.model ?? providers.default;
  const warning = usual === undefined ? undefined : missingPrice(config, usual);
  if (warning !== undefined) parts.log.warn(warning);
  return openChats({
    ...parts,
    stateDir: sandbox.state_dir,
    postgres: chat.postgres,
    channels: channels === 'all' ? await openChannels(config, parts.log) : [],
    allowed: Object.fromEntries(Object.entries(platforms).map(([name, each]) => [name, each?.allow ?? {}])),
    pairingMs: chat.pairing_minutes * 60_000,
    concurrency: sandboxed.enabled ? sandboxed.concurrency : chat.concurrency,
    mostPerUser: chat.per_user,
    messagesPerMinute: chat.messages_per_minute,
    mostFileBytes: chat.file_size,
    timeZone: chat.time_zone,
    dailyBudget: { usd: providers.daily_budget, tokens: providers.daily_tokens },
    duringTurn: chat.during_turn,
    // Other agents have their own names for models.
    ...(config.agents.driver === 'builtin' && {
      refusedModel: (name) => refusedModel(models, name) ?? missingPrice(config, name),
    }),
  });
}

function refusedModel(models: Models, name: string): string | undefined {
  try {
    models.get(name);
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}
