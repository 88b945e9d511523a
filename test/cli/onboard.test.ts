import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { discordToken, startDiscord } from '../fixtures/discord-server.ts';
import type { ModelCall, Reply } from '../fixtures/model-server/model-server.ts';
import { startModelServer } from '../fixtures/model-server/model-server.ts';
import { slackAppToken, slackBotToken, startSlack } from '../fixtures/slack-server.ts';
import { startTelegram, telegramToken } from '../fixtures/telegram-server.ts';
import { startWhatsApp, whatsAppKeys } from '../fixtures/whatsapp-server.ts';
import { patience, patiently, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap } = inject('engines');
const reason = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

const down = '\x1b[B';
const key = 'a-key-that-works';

/** A model that accepts one key and answers with one word. */
function model({ headers }: ModelCall): Reply {
  const given = headers.authorization ?? `Bearer ${headers['x-api-key']}`;
  return given === `Bearer ${key}` ? { text: 'ready' } : { status: 401 };
}

const fileOf = (home: SandboxHome) => join(home.folder, '.config/geode/geode.json');

async function writeConfig(home: SandboxHome, text: string): Promise<void> {
  await mkdir(join(home.folder, '.config/geode'), { recursive: true });
  await writeFile(fileOf(home), text);
}

describe.skipIf(!bubblewrap.available)(`CLI-1: geode onboard${reason}`, patience, () => {
  it('asks for settings, tests each answer, asks again when a test fails, and writes the config', async () => {
    await using server = await startModelServer(model);
    await using home = await sandboxHome({});
    await using person = home.sit(['onboard'], { rows: 60, columns: 160 });
    await person.sees('Which provider of models?');
    person.type(`${down}${down}\r`);
    await person.sees('A name for it');
    person.type('\r');
    await person.sees('Its address');
    person.type('nowhere\r');
    await person.sees('An address: http://');
    person.type(`${'\x7f'.repeat(7)}${server.url}/v1\r`);
    await person.sees('The usual model');
    person.type('scripted\r');
    await person.sees('Its key');
    person.type('another-key\r');
    await person.sees('That did not work.');
    person.type('\r');
    await person.sees(/The usual model\s+│\s+scripted[\s\S]*The usual model/);
    person.type('\r');
    await person.sees(/Its key[\s\S]*Its key/);
    person.type(`${key}\r`);
    await person.sees('local/scripted answers: ready');
    await person.sees(/bubblewrap: .*grade/);
    await person.sees('Which runtime should sandboxes use?');
    person.type('\r');
    await person.sees('Where should people reach the agents');
    person.type('\r');
    await person.sees('US dollars');
    person.type('a lot\r');
    await person.sees('An amount, for example 5');
    person.type(`${'\x7f'.repeat(5)}2.5\r`);
    await person.sees('Start the gateway now?');
    person.type(`${down}\r`);
    await person.sees('Start the gateway: geode gateway');
    expect(await person.over).toBe(0);
    expect(person.written()).not.toContain(key);

    const text = await readFile(fileOf(home), 'utf8');
    expect(text).toContain('// default model: SERVICE/MODEL');
    expect(text).not.toContain(key);
    expect((await stat(fileOf(home))).mode & 0o777).toBe(0o600);
    const settings = await home.json<{ name: string; value: unknown }[]>(['config']);
    const value = (name: string) => settings.find((setting) => setting.name === name)?.value;
    expect(value('providers.default')).toBe('local/scripted');
    expect(value('providers.daily_budget')).toBe(2.5);
    // The stored key is the one that models are asked with.
    const before = server.calls.length;
    expect(await home.ok(['agent', '-m', 'are you there?'])).toContain('ready');
    expect(server.calls.length).toBeGreaterThan(before);
    expect(server.calls.at(-1)?.headers.authorization).toBe(`Bearer ${key}`);
  });

  it('changes one setting and keeps the rest of the file, including comments', async () => {
    await using telegram = await startTelegram();
    await using home = await sandboxHome({});
    await writeConfig(
      home,
      `{
  // my machine is small
  "sandbox": { "most": 3 }, /* really */
  "channels": {
    "telegram": { "api_url": "${telegram.url}", "groups": "off" } // our own server
  },
}
`,
    );
    await using person = home.sit(['onboard', 'channels'], { rows: 60, columns: 160 });
    await person.sees('Where should people reach the agents');
    person.type('\r');
    await person.sees('Change the settings of telegram?');
    person.type('y');
    await person.sees('its token');
    person.type('123456:not-the-token\r');
    await person.sees('telegram refused it');
    person.type('\r');
    await person.sees(/its token[\s\S]*its token/);
    person.type(`${telegramToken}\r`);
    await person.sees('telegram is @geode_test_bot');
    await person.sees('your own id there');
    person.type('4711\r');
    await person.sees('Start the gateway now?');
    person.type('n');
    expect(await person.over).toBe(0);
    expect(telegram.calls.map(({ method }) => method)).toEqual(['getMe', 'getMe']);

    const text = await readFile(fileOf(home), 'utf8');
    expect(text).toContain('// my machine is small\n  "sandbox": { "most": 3 }, /* really */');
    expect(text).toContain('// our own server');
    const settings = await home.json<{ name: string; value: unknown }[]>(['config']);
    expect(settings.find(({ name }) => name === 'channels.telegram')?.value).toMatchObject({
      groups: 'off',
      allow: { 4711: 'local' },
    });
    expect(await home.ok(['secrets', 'ls'])).toContain('telegram');
  });

  it('changes nothing after Ctrl-C, and without a terminal', async () => {
    await using home = await sandboxHome({});
    await using person = home.sit(['onboard', 'budget']);
    await person.sees('US dollars');
    person.type('\x03');
    expect(await person.over).toBe(130);
    expect(person.screen()).toContain('nothing was changed');
    const { code, stderr } = await home.run(['onboard']);
    expect(code).toBe(2);
    expect(stderr).toContain('--yes');
    await expect(readFile(fileOf(home))).rejects.toThrow('ENOENT');
  });

  it('CLI-1: asks nothing with --yes: answers from a file and flags, then the gateway answers on Telegram', async () => {
    await using server = await startModelServer(model);
    await using telegram = await startTelegram();
    await using home = await sandboxHome({ GEODE_GATEWAY_PORT: '0', MODEL_KEY: key, BOT: telegramToken });
    const answers = join(home.folder, 'answers.json');
    await writeFile(
      answers,
      `{ // of the operator
        "provider": { "kind": "anthropic", "model": "scripted", "key": { "from": "MODEL_KEY" } },
        "runtime": "bubblewrap",
        "channels": { "telegram": { "settings": { "api_url": "${telegram.url}" } } },
      }`,
    );
    const flags = [
      '--base-url',
      `${server.url}/v1`,
      '--token-from',
      'telegram=BOT',
      '--owner',
      'telegram=99',
    ];
    const gateway = home.start(
      'onboard',
      '--yes',
      '--answers',
      answers,
      ...flags,
      '--budget',
      '3',
      '--start',
    );
    let said = '';
    gateway.stdout.on('data', (piece) => {
      said += piece;
    });
    await patiently(async () => said.includes('Geode listens on'), 'a gateway');
    expect(said).toContain('✓ anthropic/scripted answers: ready');
    expect(said).toContain('✓ telegram is @geode_test_bot');
    telegram.write(99, 'are you there?');
    await patiently(async () => telegram.shown(99).some((text) => text.includes('ready')), 'an answer');

    const status = await home.json<{ channels: unknown[] }>(['status']);
    expect(status.channels).toContainEqual(
      expect.objectContaining({ channel: 'telegram', state: 'connected' }),
    );
    const again = await home.ok(['onboard', '--yes', '--budget', 'none']);
    expect(again).toContain(`(pid ${gateway.pid}) still uses the old settings`);
    expect(await readFile(fileOf(home), 'utf8')).toContain('"daily_budget": null');
  });

  it('CLI-1: tests the tokens of every platform', async () => {
    await using discord = await startDiscord();
    await using slack = await startSlack();
    await using whatsApp = await startWhatsApp();
    await using home = await sandboxHome({
      DISCORD: discordToken,
      SLACK: slackBotToken,
      SLACK_APP: slackAppToken,
      WHATSAPP: whatsAppKeys.token,
      WHATSAPP_APP: whatsAppKeys.appSecret,
      WHATSAPP_VERIFY: whatsAppKeys.verifyToken,
    });
    const answers = join(home.folder, 'answers.json');
    const { phoneNumberId } = whatsAppKeys;
    const channels = {
      discord: { settings: { api_url: discord.url } },
      slack: { settings: { api_url: slack.url } },
      whatsapp: { settings: { api_url: whatsApp.url, phone_number_id: phoneNumberId } },
    };
    await writeFile(answers, JSON.stringify({ channels }));
    const tokens = [
      'discord=DISCORD',
      'slack=SLACK',
      'slack.app_secret=SLACK_APP',
      'whatsapp=WHATSAPP',
      'whatsapp.app_secret=WHATSAPP_APP',
      'whatsapp.verify_secret=WHATSAPP_VERIFY',
    ].flatMap((from) => ['--token-from', from]);
    const said = await home.ok(['onboard', '--yes', '--answers', answers, ...tokens]);
    expect(said).toContain('✓ discord is geode\n');
    expect(said).toContain('✓ slack is geode in Tests\n');
    expect(said).toContain('✓ whatsapp is Geode Test (+1 555-078-3881)\n');
    slack.revoked = true;
    const refused = await home.run(['onboard', '--yes', '--answers', answers]);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('token_revoked') });
  });

  it('CLI-1: without answers or a model it names the missing settings, and exits with a failure', async () => {
    await using home = await sandboxHome({});
    const empty = await home.run(['onboard', '--yes']);
    expect(empty).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--provider KIND') });
    await expect(readFile(fileOf(home))).rejects.toThrow('ENOENT');
    const asked = await home.run(['chat', 'plans', '-m', 'hi']);
    expect(asked).toMatchObject({ code: 1, stdout: expect.stringContaining('No model is set') });
    expect(await home.ok(['secrets', 'set', 'telegram'], 'a-token-of-a-bot')).toContain(
      'the gateway uses it for telegram',
    );
    expect(await home.ok(['secrets', 'set', 'other'], 'a-token-of-a-bot')).toContain(
      'use it with --bind other',
    );
    const waiting = await home.run(['chat', 'pair']);
    expect(waiting).toMatchObject({ code: 0, stderr: expect.stringContaining('geode gateway') });
  });

  it('CLI-1: tests a channel with the configured settings, and lists the settings that it wrote', async () => {
    await using telegram = await startTelegram();
    await using home = await sandboxHome({ BOT: telegramToken });
    await writeConfig(home, `{ "channels": { "telegram": { "api_url": "${telegram.url}" } } }`);
    const said = await home.ok(['onboard', '--yes', '--token-from', 'telegram=BOT', '--budget', '3']);
    expect(said).toContain('✓ telegram is @geode_test_bot');
    expect(said).toContain(': providers.daily_budget.\n');
    expect(telegram.calls.map(({ method }) => method)).toEqual(['getMe']);
  });

  it('refuses settings that fail their check and changes no file', async () => {
    await using server = await startModelServer(model);
    await using home = await sandboxHome({ WRONG: 'a-wrong-key' });
    const anthropic = ['--provider', 'anthropic', '--model', 'm', '--base-url', `${server.url}/v1`];
    const refused = [
      [[...anthropic, '--key-from', 'WRONG'], /401|refused/i, 1],
      [[...anthropic, '--key-from', 'NOT_SET'], /NOT_SET is not set/, 2],
      [['--runtime', 'apple'], /apple does not work here/, 1],
      [['--channel', 'telgram'], /no channel telgram; there are: telegram/, 2],
      [['--channel', 'telegram'], /telegram needs a credential/, 1],
      [['--budget', 'much'], /--budget much/, 2],
      [['--answers', 'nothing.json'], /cannot be read/, 1],
    ] as const;
    for (const [flags, words, code] of refused) {
      const outcome = await home.run(['onboard', '--yes', ...flags]);
      expect(outcome.stderr).toMatch(words);
      expect(outcome.code).toBe(code);
      await expect(readFile(fileOf(home))).rejects.toThrow('ENOENT');
    }
  });
});
