/** Tries the credentials of a channel with one real call before its settings are kept. */
import { z } from 'zod';
import { botApi } from '../chat/channels/telegram/bot-api.ts';
import type { Config } from '../config/schema.ts';
import { GeodeError, reasonOf } from '../core/errors.ts';

type Channels = Config['channels'];
/** What was stored under the settings that name a secret: `{ secret: '110201543:AAH…' }`. */
type Values = Readonly<Record<string, string>>;

const timeoutMs = 15_000;
const botSchema = z.object({ username: z.string() });

type Checks = { readonly [Name in keyof Channels]?: (settings: unknown, values: Values) => Promise<string> };

/** Who we are there. A channel without an entry is not tried. */
const checks: Checks = {
  async telegram(settings, { secret = '' }) {
    const { api_url: url } = z.object({ api_url: z.string() }).parse(settings);
    return `@${botSchema.parse(await botApi(url, secret).call('getMe', {}, { timeoutMs })).username}`;
  },
};

/** Undefined where there is no way to try it; `channel_failed` when the platform says no. */
export async function checkChannel(
  name: string,
  settings: unknown,
  values: Values,
): Promise<string | undefined> {
  const check = Object.entries(checks).find(([known]) => known === name)?.[1];
  try {
    return await check?.(settings, values);
  } catch (cause) {
    throw new GeodeError('channel_failed', `${name} does not take it: ${reasonOf(cause)}`, {
      hint: 'See that the token is whole and not revoked, and that the platform can be reached from here.',
      cause,
    });
  }
}
