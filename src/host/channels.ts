import { join } from 'node:path';
import { GeodeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { openChannelMarks } from '../chat/channels/channel-marks.ts';
import type { Config } from '../config/schema.ts';
import type { Channel } from '../seams/channel.ts';
import { storedSecret } from './stored-secret.ts';

/** The platforms of the config. The code of each is loaded only if it is configured. */
export async function openChannels(config: Config, log: Log): Promise<readonly Channel[]> {
  const { telegram, discord, slack, whatsapp } = config.channels;
  const file = join(config.sandbox.state_dir, 'ledger.db');
  const of = (name: keyof Config['channels']) => ({
    log: log.child({ channel: name }),
    marks: () => openChannelMarks(file, name),
    token: (secret: string) => tokenOf(config, name, secret),
  });
  await using opened = new AsyncDisposableStack();
  const channels: Channel[] = [];
  const add = (channel: Channel) => void channels.push(opened.use(channel));
  if (telegram !== undefined) {
    const { openTelegram } = await import('../chat/channels/telegram/telegram.ts');
    const { token, log, marks } = of('telegram');
    const { api_url: apiUrl, groups, secret } = telegram;
    add(await openTelegram({ token: token(secret), apiUrl, groups, log, marks: marks() }));
  }
  if (discord !== undefined) {
    const { openDiscord } = await import('../chat/channels/discord/discord.ts');
    const { token, log, marks } = of('discord');
    const { api_url: apiUrl, groups, secret } = discord;
    add(await openDiscord({ token: token(secret), apiUrl, groups, log, marks: marks() }));
  }
  if (slack !== undefined) {
    const { openSlack } = await import('../chat/channels/slack/slack.ts');
    const { token, log, marks } = of('slack');
    const { api_url: apiUrl, groups, secret, app_secret: app } = slack;
    const tokens = { botToken: token(secret), appToken: token(app) };
    add(await openSlack({ ...tokens, apiUrl, groups, log, marks: marks() }));
  }
  if (whatsapp !== undefined) {
    const { openWhatsApp } = await import('../chat/channels/whatsapp/whatsapp.ts');
    const { token, log } = of('whatsapp');
    add(
      await openWhatsApp({
        token: token(whatsapp.secret),
        appSecret: token(whatsapp.app_secret),
        verifyToken: token(whatsapp.verify_secret),
        phoneNumberId: whatsapp.phone_number_id,
        apiUrl: whatsapp.api_url,
        log,
      }),
    );
  }
  opened.move();
  return channels;
}

function tokenOf(config: Config, channel: string, name: string): string {
  const token = storedSecret(config, name);
  if (token !== undefined) return token;
  throw new GeodeError('secret_missing', `The token of channels.${channel} is not stored as ${name}.`, {
    hint: `Store it with geode secrets set ${name} < FILE, or remove channels.${channel}.`,
  });
}
