import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { checkChannel } from '../../src/host/check-channel.ts';
import { discordToken, startDiscord } from '../fixtures/discord-server.ts';
import { closeServer, listenHere } from '../fixtures/http-forms.ts';
import { slackAppToken, slackBotToken, startSlack } from '../fixtures/slack-server.ts';
import { startTelegram } from '../fixtures/telegram-server.ts';
import { startWhatsApp, whatsAppKeys } from '../fixtures/whatsapp-server.ts';

const failed = (words: string) => ({ code: 'channel_failed', message: expect.stringContaining(words) });

it('CLI-1: reports the error of a wrong Telegram or Discord bot token', async () => {
  await using telegram = await startTelegram();
  const onTelegram = (secret: string) => checkChannel('telegram', { api_url: telegram.url }, { secret });
  await expect(onTelegram('123:wrong')).rejects.toMatchObject(failed('Unauthorized (401)'));
  await using discord = await startDiscord();
  const onDiscord = (secret: string, groups = 'addressed') =>
    checkChannel('discord', { api_url: discord.url, groups }, { secret });
  expect(await onDiscord(discordToken)).toBe('geode');
  await expect(onDiscord('not-the-token')).rejects.toMatchObject(failed('Unauthorized'));
  expect(await onDiscord(discordToken, 'all')).toBe('geode');
  discord.readsAll = false;
  expect(await onDiscord(discordToken)).toBe('geode');
  await expect(onDiscord(discordToken, 'all')).rejects.toMatchObject(failed('Message Content Intent'));
});

it('CLI-1: reports which of the two Slack tokens is wrong', async () => {
  await using slack = await startSlack();
  const check = (secret: string, app: string) =>
    checkChannel('slack', { api_url: slack.url }, { secret, app_secret: app });
  expect(await check(slackBotToken, slackAppToken)).toBe('geode in Tests');
  await expect(check(slackAppToken, slackBotToken)).rejects.toMatchObject(
    failed('bot must start with xoxb-'),
  );
  await expect(check('xoxb-wrong', slackAppToken)).rejects.toMatchObject(failed('auth.test: invalid_auth'));
  await expect(check(slackBotToken, 'xapp-wrong')).rejects.toMatchObject(
    failed('apps.connections.open: invalid_auth'),
  );
  await expect(check(slackBotToken, slackBotToken)).rejects.toMatchObject(
    failed('app must start with xapp-'),
  );
});

it('CLI-1: tests the token, the number and the secret of a WhatsApp app in one call', async () => {
  await using server = await startWhatsApp();
  const { token, appSecret, phoneNumberId } = whatsAppKeys;
  const check = (secret: string, app: string, id = phoneNumberId) =>
    checkChannel('whatsapp', { api_url: server.url, phone_number_id: id }, { secret, app_secret: app });
  expect(await check(token, appSecret)).toBe('Geode Test (+1 555-078-3881)');
  await expect(check('EAAwrong', appSecret)).rejects.toMatchObject(failed('access token'));
  await expect(check(token, 'another secret')).rejects.toMatchObject(failed('appsecret_proof'));
  await expect(check(token, appSecret, '12345')).rejects.toMatchObject(failed('Unknown path'));
});

it('CLI-1: reports a platform that cannot be reached or answers nonsense', async () => {
  const settings = { api_url: 'http://127.0.0.1:9', groups: 'off' };
  await expect(checkChannel('discord', settings, { secret: discordToken })).rejects.toMatchObject(
    failed('it cannot be reached'),
  );
  const server = createServer((_, response) => response.end('<html>Welcome</html>'));
  const port = await listenHere(server);
  const values = { secret: slackBotToken, app_secret: slackAppToken };
  for (const [name, reason] of [
    ['telegram', 'Telegram sent an invalid answer to getMe (200)'],
    ['discord', 'the answer is not valid'],
    ['slack', 'Slack sent an invalid answer to auth.test'],
  ] as const)
    await expect(
      checkChannel(name, { api_url: `http://127.0.0.1:${port}`, groups: 'off' }, values),
    ).rejects.toMatchObject(failed(reason));
  await closeServer(server);
});
