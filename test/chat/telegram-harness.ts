import { join } from 'node:path';
import { noLog } from '../../src/base/log.ts';
import { openChannelMarks } from '../../src/chat/channels/channel-marks.ts';
import { openTelegram } from '../../src/chat/channels/telegram/telegram.ts';
import type { PlatformHarness } from '../contracts/channel.ts';
import { startTelegram, type TelegramServer, telegramToken } from '../fixtures/telegram-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const ann = 42;

export interface TelegramHarness extends PlatformHarness {
  readonly telegram: TelegramServer;
}

/** `rich: false`: a server that is older than rich messages. */
export async function telegramHarness({ rich = true } = {}): Promise<TelegramHarness> {
  const telegram = await startTelegram({ rich });
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
      const from = { id: ann, is_bot: false, first_name: 'Ann' };
      const chat = { id: ann, type: 'private' };
      const odd = {
        message_id: 9_999,
        date: 1,
        chat,
        from,
        text: 'odd',
        reply_to_message: { message_id: 1, from, text: 'x' },
      };
      telegram.push({ message: odd });
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
