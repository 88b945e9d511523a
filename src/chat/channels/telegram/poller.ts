import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { reasonOf } from '../../../base/errors.ts';
import type { Log } from '../../../base/log.ts';
import type { ChannelState } from '../../../seams/channel.ts';
import { PlatformError } from '../platform-error.ts';
import type { BotApi } from './bot-api.ts';
import { type Bot, type Update, updateSchema } from './updates.ts';

export interface PollerOptions {
  readonly api: BotApi;
  /** How long the platform holds a request when nothing comes. */
  readonly pollMs: number;
  /** As its clients show them to people who type a slash. */
  readonly commands: readonly { readonly command: string; readonly description: string }[];
  /** Stores what came in. What it throws is tried again. */
  readonly take: (bot: Bot, update: Update) => Promise<void>;
  readonly changed: (state: ChannelState) => void;
  readonly log: Log;
}

const botSchema = z.object({ id: z.number(), username: z.string().regex(/^\w+$/) });
const firstPauseMs = 500;
const longestPauseMs = 60_000;
const slackMs = 15_000;

/**
 * Asks Telegram for updates until the signal fires. An update is acknowledged by asking for the ones after it, which
 * happens only when it is stored: after a crash Telegram sends it again.
 */
export async function poll(options: PollerOptions, signal: AbortSignal): Promise<void> {
  const { api, commands, changed, log } = options;
  let isListed = false;
  let bot: Bot | undefined;
  let offset = 0;
  let failures = 0;
  let deafSince: number | undefined;
  while (!signal.aborted) {
    try {
      if (bot === undefined) {
        bot = botSchema.parse(await api.call('getMe', {}, { timeoutMs: slackMs, signal }));
        changed({ state: 'connected' });
        // Commands work without the list, so a refusal of it changes nothing.
        if (!isListed)
          await api.call('setMyCommands', { commands }, { timeoutMs: slackMs, signal }).catch((err) => {
            log.warn({ err }, `Telegram did not take the list of commands: ${reasonOf(err)}`);
          });
        isListed = true;
      }
      const updates = await getUpdates(options, offset, signal);
      failures = 0;
      deafSince = undefined;
      changed({ state: 'connected' });
      for (const update of updates) offset = (await takeOne(options, bot, update)) + 1;
    } catch (error) {
      if (signal.aborted) return;
      // Asking who it is shows at once when the platform is back.
      bot = undefined;
      failures += 1;
      deafSince ??= Date.now();
      const reason = reasonOf(error);
      changed({ state: 'deaf', since: deafSince, reason });
      log.warn({ err: error }, `Telegram is not heard: ${reason}`);
      await delay(pauseAfter(error, failures), undefined, { signal }).catch(() => {});
    }
  }
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

/** An update that cannot be understood is logged and passed over: it would be sent again for ever. */
async function takeOne({ take, log }: PollerOptions, bot: Bot, given: unknown): Promise<number> {
  const { update_id: number } = numberSchema.parse(given);
  const update = updateSchema.safeParse(given);
  if (update.success) await take(bot, update.data);
  else log.warn({ update: number }, `Telegram sent an update that makes no sense: ${update.error.message}`);
  return number;
}

function pauseAfter(error: unknown, failures: number): number {
  if (error instanceof PlatformError && error.retryAfterMs !== undefined) return error.retryAfterMs;
  return Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 10));
}
