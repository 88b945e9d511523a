import { z } from 'zod';

const groups = z
  .enum(['addressed', 'all', 'off'])
  .default('addressed')
  .describe('messages to read in groups: mentions of the bot, all or none');

function allow(whose: string) {
  return z
    .record(z.string(), z.string())
    .default({})
    .describe(`people who need no pairing: ${whose} of the person, and the user`);
}

function secret(name: string, what: string) {
  return z.string().default(name).describe(`name of the secret with ${what}: geode secrets set`);
}

/** Channels besides the web and the terminal. A platform that is left out is not opened. */
export const channelsSettings = z
  .strictObject({
    telegram: z
      .strictObject({
        secret: secret('telegram', 'the token'),
        api_url: z.url().default('https://api.telegram.org').describe('address of the Bot API'),
        allow: allow("Telegram's number"),
        groups,
      })
      .optional()
      .describe('Telegram bot; {} is enough if its token is the secret telegram'),
    discord: z
      .strictObject({
        secret: secret('discord', 'the token of the bot'),
        api_url: z.url().default('https://discord.com/api/v10').describe('address of the REST API'),
        allow: allow("Discord's number"),
        groups,
      })
      .optional()
      .describe('Discord bot; {} is enough if its token is the secret discord'),
    slack: z
      .strictObject({
        secret: secret('slack', 'the token of the bot (xoxb-)'),
        app_secret: secret('slack-app', 'the token of the app (xapp-), for socket mode'),
        api_url: z.url().default('https://slack.com/api').describe('address of the Web API'),
        allow: allow("Slack's id (U…)"),
        groups,
      })
      .optional()
      .describe('Slack app in socket mode; {} is enough with the secrets slack and slack-app'),
    whatsapp: z
      .strictObject({
        phone_number_id: z.string().regex(/^\d+$/).describe("Meta's id of the number that people write to"),
        secret: secret('whatsapp', 'the access token'),
        app_secret: secret('whatsapp-app', "the app's secret, which signs what Meta sends"),
        verify_secret: secret('whatsapp-verify', 'the text that Meta must know to set up the webhook'),
        api_url: z.url().default('https://graph.facebook.com').describe('address of the Graph API'),
        allow: allow('phone number (digits only)'),
      })
      .optional()
      .describe('WhatsApp Cloud API number; Meta calls /webhooks/whatsapp of the gateway'),
  })
  .prefault({});
