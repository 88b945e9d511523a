import { z } from 'zod';
import { reasonOf } from '../../../base/errors.ts';
import type { Log } from '../../../base/log.ts';
import type { ChannelState } from '../../../seams/channel.ts';
import type { KeepConnectedOptions } from '../keep-connected.ts';
import type { BotApi } from './bot-api.ts';
import { type Bot, type Update, updateSchema } from './updates.ts';

export interface PollerOptions {
  readonly api: BotApi;
  /** How long the platform holds a request open when there are no updates. */
  readonly pollMs: number;
  /** Shown by Telegram's clients when a person types a slash. */
  readonly commands: readonly { readonly command: string; readonly description: string }[];
  /** Stores the updates. If it throws, they are requested again. */
  readonly take: (bot: Bot, update: Update) => Promise<void>;
  readonly changed: (state: ChannelState) => void;
  readonly log: Log;
}

const botSchema = z.object({ id: z.number(), username: z.string().regex(/^\w+$/) });
const slackMs = 15_000;

/**
 * Polls Telegram for updates until a request fails. Asking for later updates acknowledges the earlier ones. That
 * happens only after they are stored, so Telegram sends them again after a crash.
 */
export function polling(options: PollerOptions): KeepConnectedOptions['connect'] {
  const { api, commands, changed, log } = options;
  let isListed = false;
  let offset = 0;
  return async (up, signal) => {
    // This request answers as soon as the platform is back; the one for updates may wait.
    const bot = botSchema.parse(await api.call('getMe', {}, { timeoutMs: slackMs, signal }));
    changed({ state: 'connected' });
    // Commands work without the menu, so a refusal is harmless.
    if (!isListed)
      await api.call('setMyCommands', { commands }, { timeoutMs: slackMs, signal }).catch((err) => {
        log.warn({ err }, `Telegram refused the command menu: ${reasonOf(err)}`);
      });
    isListed = true;
    while (!signal.aborted) {
      const updates = await getUpdates(options, offset, signal);
      up();
      for (const update of updates) offset = (await takeOne(options, bot, update)) + 1;
    }
  };
}

async function getUpdates(
  { api, pollMs }: PollerOptions,
  offset: number,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const payload = {
    offset,
    timeout: Math.ceil(pollMs / 1000),
    allowed_updates: ['message', 'edited_message', 'callback_query'],
  };
  const found = await api.call('getUpdates', payload, { timeoutMs: pollMs + slackMs, signal });
  return z.array(z.unknown()).parse(found);
}

const numberSchema = z.looseObject({ update_id: z.number() });

/** Log an update that cannot be understood and skip it: Telegram would send it forever. */
async function takeOne({ take, log }: PollerOptions, bot: Bot, given: unknown): Promise<number> {
  const { update_id: number } = numberSchema.parse(given);
  const update = updateSchema.safeParse(given);
  if (update.success) await take(bot, update.data);
  else log.warn({ update: number }, `Telegram sent an invalid update: ${update.error.message}`);
  return number;
}
