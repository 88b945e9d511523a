import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openChannelMarks } from '../../src/chat/channels/channel-marks.ts';
import { openTelegram } from '../../src/chat/channels/telegram/telegram.ts';
import { noLog } from '../../src/core/log.ts';
import { channelContract, type PlatformHarness, platformScene } from '../contracts/channel.ts';
import { type AgentScript, resultOf } from '../fixtures/scripted-agents.ts';
import { startTelegram, type TelegramServer, telegramToken } from '../fixtures/telegram-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const soon = { timeout: 60_000 };
const ann = 42;

interface TelegramHarness extends PlatformHarness {
  readonly telegram: TelegramServer;
}

async function telegramHarness(): Promise<TelegramHarness> {
  const telegram = await startTelegram();
  const folder = temporaryFolder();
  let last: Record<string, unknown> = {};
  const at = (person: string) => telegram.messages.filter(({ chat }) => chat === Number(person));
  return {
    telegram,
    ann: String(ann),
    eve: '666',
    secrets: [telegramToken],
    bold: '**there**',
    longest: 32_768,
    canEdit: true,
    open: () =>
      openTelegram({
        token: telegramToken,
        apiUrl: telegram.url,
        groups: 'addressed',
        marks: openChannelMarks(join(folder.path, 'marks.db'), 'telegram'),
        log: noLog,
        pollMs: 20_000,
        editEveryMs: 20,
      }),
    say(from, text, { file, as } = {}) {
      const id = `file-${text.length}`;
      if (file !== undefined) telegram.addFile(id, `documents/${id}`, file.bytes);
      const document = file && {
        file_id: id,
        file_unique_id: id,
        file_name: file.name,
        file_size: file.bytes.length,
      };
      last = telegram.write(Number(from), text, {
        ...(document !== undefined && { text: undefined, caption: text, document }),
        ...(as !== undefined && { from: { id: Number(from), is_bot: false, first_name: as } }),
      });
    },
    repeat: () => telegram.push({ message: last }),
    garbage() {
      telegram.push({ message: { message_id: 'x', chat: null } });
      telegram.push({ callback_query: { id: 'q', from: { id: ann }, data: 'chat:{{{' } });
      telegram.push({ poll: {} });
    },
    shown: (to) =>
      at(to).map(({ buttons, ...rest }) => ({ ...rest, buttons: buttons.map(({ text }) => text) })),
    press(from, to, label) {
      const message = at(to).findLast(({ buttons }) => buttons.length > 0);
      if (message === undefined) throw new Error('No message has buttons');
      telegram.press(Number(from), message, label);
    },
    hasTyped: () => telegram.calls.some(({ method }) => method === 'sendChatAction'),
    drop: () => telegram.drop(),
    slowDown() {
      const body = {
        ok: false,
        error_code: 429,
        description: 'Too Many Requests',
        parameters: { retry_after: 1 },
      };
      for (const method of ['sendRichMessage', 'sendMessage', 'getUpdates'])
        telegram.fail(method, { status: 429, body });
    },
    cutSend: () => telegram.fail('sendMessage', 'cut-after'),
    settlesCuts: false,
    refuseSends(status, times) {
      for (let each = 0; each < times; each += 1)
        telegram.fail('sendMessage', {
          status,
          body: { ok: false, error_code: status, description: 'Bad Gateway' },
        });
    },
    get revoked() {
      return telegram.revoked;
    },
    set revoked(value) {
      telegram.revoked = value;
    },
    async [Symbol.asyncDispose]() {
      await telegram[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

channelContract('telegram', telegramHarness);

const echo: AgentScript = async function* ({ message }) {
  yield resultOf(`You said ${message.text}`);
};

it('CH-1: telegram: in a group it answers what is meant for it, in the group', async () => {
  await using platform = await telegramHarness();
  await using world = await platformScene('telegram', platform, echo);
  const { telegram } = platform;
  const group = { chat: { id: -100, type: 'supergroup', title: 'Friends' } };
  telegram.write(ann, 'nice weather', group);
  telegram.write(ann, '@geode_test_bot what is up?', group);
  await expect.poll(() => telegram.shown(-100), soon).toEqual(['You said [Person 42] what is up?']);
  expect(world.agents.turns).toHaveLength(1);
});

it('an unknown person gets a code on telegram, and /stop works while a run goes on', async () => {
  await using platform = await telegramHarness();
  await using world = await platformScene('telegram', platform, async function* ({ signal }) {
    yield { type: 'text', text: 'working' };
    if (!signal.aborted) await once(signal, 'abort');
    yield resultOf('', 'interrupted');
  });
  const { telegram } = platform;
  const { chats } = world;
  telegram.write(7, 'hello');
  await expect.poll(() => telegram.shown(7).join(), soon).toContain('I do not know you yet');
  const [pairing] = chats.pairings();
  await chats.pair(pairing?.code ?? '', { user: 'eve', by: 'socket' });
  await expect.poll(() => telegram.shown(7), soon).toContain('working …');
  telegram.write(7, '/stop');
  await expect
    .poll(() => telegram.shown(7).filter((text) => /stopped/i.test(text)), soon)
    .toEqual(expect.arrayContaining(['working\n\n(stopped)', 'Stopped.']));
});

it('CH-1: telegram: a message that was changed is heard again as a change', async () => {
  await using platform = await telegramHarness();
  await using world = await platformScene('telegram', platform, echo);
  const { telegram } = platform;
  const message = telegram.write(ann, 'wrong');
  await expect.poll(() => telegram.shown(ann), soon).toEqual(['You said wrong']);
  for (let times = 0; times < 2; times += 1)
    telegram.push({ edited_message: { ...message, text: 'right', edit_date: 1_800_000_000 } });
  telegram.write(ann, 'and');
  await expect
    .poll(() => world.agents.turns.map((turn) => turn.message.text), soon)
    .toEqual(['wrong', '(edited) right', 'and']);
});
