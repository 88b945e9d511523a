/** Tries the credentials of a channel with real calls before its settings are saved. */
import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { GeodeError, reasonOf } from '../base/errors.ts';
import { discordRest } from '../chat/channels/discord/rest.ts';
import { slackApi } from '../chat/channels/slack/web-api.ts';
import { botApi } from '../chat/channels/telegram/bot-api.ts';
import { graph } from '../chat/channels/whatsapp/graph.ts';
import type { Config } from '../config/schema.ts';

type Channels = Config['channels'];
/** The secrets by setting name: `{ secret: '110201543:AAH…' }`. */
type Values = Readonly<Record<string, string>>;

const timeoutMs = 15_000;
const at = z.object({ api_url: z.string() });
const named = z.object({ username: z.string() });
const number = at.extend({ phone_number_id: z.string() });

/** Each returns the bot's name there. */
const checks: {
  readonly [Name in keyof Channels]-?: (settings: unknown, values: Values) => Promise<string>;
} = {
  async telegram(settings, { secret = '' }) {
    const { api_url: url } = at.parse(settings);
    return `@${named.parse(await botApi(url, secret).call('getMe', {}, { timeoutMs })).username}`;
  },
  async discord(settings, { secret = '' }) {
    const { api_url: url, groups } = discordSchema.parse(settings);
    const rest = discordRest(url, secret);
    const { username } = named.parse(await rest.call('GET', '/users/@me', { timeoutMs }));
    if (groups !== 'all') return username;
    const { flags } = applicationSchema.parse(await rest.call('GET', '/applications/@me', { timeoutMs }));
    if (flags !== undefined && (flags & readsAll) === 0)
      throw new Error(
        `${username} has no permission to read all messages: enable the Message Content Intent in the developer portal, or set groups to "addressed"`,
      );
    return username;
  },
  async slack(settings, { secret = '', app_secret: app = '' }) {
    const { api_url: url } = at.parse(settings);
    const bot = tokenOf('The token of the bot', secret, 'xoxb-');
    const socket = tokenOf('The token of the app', app, 'xapp-');
    const { user, team } = whoSchema.parse(await slackApi(url, bot).call('auth.test', {}, { timeoutMs }));
    await slackApi(url, socket).call('apps.connections.open', {}, { timeoutMs });
    return `${user} in ${team}`;
  },
  async whatsapp(settings, { secret = '', app_secret: app = '' }) {
    const { api_url: url, phone_number_id: id } = number.parse(settings);
    // Meta checks the app's secret through this proof; otherwise a wrong secret would show only at Meta's first call.
    const proof = createHmac('sha256', app).update(secret).digest('hex');
    const path = `/${id}?fields=display_phone_number,verified_name&appsecret_proof=${proof}`;
    const found = phoneSchema.parse(await graph(url, secret).call('GET', path, { timeoutMs }));
    return `${found.verified_name} (${found.display_phone_number})`;
  },
};

/** The flags of an application in many servers, and in few. */
const readsAll = (1 << 18) | (1 << 19);
const discordSchema = at.extend({ groups: z.string() });
const applicationSchema = z.object({ flags: z.number().optional() });
const whoSchema = z.object({ user: z.string(), team: z.string() });
const phoneSchema = z.object({ display_phone_number: z.string(), verified_name: z.string() });

/** Slack only reports an invalid token, not that it is the other kind of token. */
function tokenOf(what: string, token: string, prefix: string): string {
  if (token.startsWith(prefix)) return token;
  throw new Error(`${what} must start with ${prefix}`);
}

/** Throws `channel_failed` if the platform refuses. */
export async function checkChannel(name: string, settings: unknown, values: Values): Promise<string> {
  const check = Object.entries(checks).find(([known]) => known === name)?.[1];
  if (check === undefined) throw new GeodeError('internal', `There is no channel ${name}.`);
  try {
    return await check(settings, values);
  } catch (cause) {
    throw new GeodeError('channel_failed', `${name} refused it: ${reasonIn(cause)}.`, {
      hint: 'Check that each token is complete and not revoked, and that the platform can be reached from here.',
      cause,
    });
  }
}

function reasonIn(error: unknown): string {
  if (error instanceof z.ZodError) return 'the answer is not valid';
  // Node only reports that a fetch failed; the reason is in `cause`.
  const inner = error instanceof TypeError && error.cause !== undefined ? error.cause : error;
  return inner === error ? reasonOf(error) : `it cannot be reached (${reasonOf(inner)})`;
}
