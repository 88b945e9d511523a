import { once } from 'node:events';
import { expect, it } from 'vitest';
import { openTelegram } from '../../src/chat/channels/telegram/telegram.ts';
import { noLog } from '../../src/core/log.ts';
import { type AgentScript, resultOf } from '../fixtures/scripted-agents.ts';
import { startTelegram, type TelegramServer, telegramToken } from '../fixtures/telegram-server.ts';
import { type ChatScene, chatScene } from './scene.ts';

const soon = { timeout: 40_000 };
const ann = 42;

interface Scene extends ChatScene {
  readonly telegram: TelegramServer;
  readonly state: () => string | undefined;
}

async function scene(script: AgentScript, given?: TelegramServer): Promise<Scene> {
  await using opened = new AsyncDisposableStack();
  const telegram = given ?? opened.use(await startTelegram());
  const channel = await openTelegram({
    token: telegramToken,
    apiUrl: telegram.url,
    groups: 'addressed',
    log: noLog,
    pollMs: 20_000,
    editEveryMs: 20,
  });
  const chats = opened.use(
    await chatScene(script, { extra: [channel], allowed: { telegram: { [ann]: 'ann' } } }),
  );
  const all = opened.move();
  return {
    ...chats,
    telegram,
    state: () => chats.chats.channels().find((each) => each.channel === 'telegram')?.state,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

const echo: AgentScript = async function* ({ message }) {
  yield resultOf(`You said ${message.text}`);
};

it('CH-1: telegram: a message in, the answer growing by edits of one message, and typing meanwhile', async () => {
  const half = Promise.withResolvers<void>();
  await using world = await scene(async function* () {
    yield { type: 'text', text: 'Let me see' };
    await half.promise;
    yield { type: 'text', text: ', there it is.' };
    yield resultOf('Let me see, **there** it is');
  });
  const { telegram } = world;
  telegram.write(ann, 'look');
  await expect.poll(() => telegram.shown(ann), soon).toEqual(['Let me see']);
  half.resolve();
  await expect.poll(() => telegram.shown(ann), soon).toEqual(['Let me see, *there* it is']);
  expect(telegram.messages[0]?.edits).toBeGreaterThan(0);
  expect(telegram.calls.map(({ method }) => method)).toContain('sendChatAction');
  expect(world.agents.turns[0]).toMatchObject({ user: 'ann', chat: `telegram:${ann}` });
  await expect.poll(() => world.state(), soon).toBe('connected');
});

it('CH-1: telegram: a file goes into the workspace, and one comes out of it', async () => {
  await using world = await scene(async function* ({ message }) {
    const [file] = message.attachments ?? [];
    yield resultOf(`${file?.name}: ${Buffer.from(file?.bytes ?? []).toString()}`);
  });
  const { telegram, sandboxes } = world;
  telegram.addFile('file-1', 'documents/notes.txt', Buffer.from('buy milk'));
  telegram.write(ann, '', {
    text: undefined,
    caption: 'read this',
    document: { file_id: 'file-1', file_unique_id: 'u1', file_name: '../../notes.txt', file_size: 8 },
  });
  await expect.poll(() => telegram.shown(ann).join(), soon).toContain('buy milk');
  expect(telegram.shown(ann).join()).toMatch(/^notes\\?\.txt/);
  expect(world.agents.turns[0]?.message.text).toBe('read this');
  const { files } = await sandboxes.of('ann').getOrCreate(`telegram:${ann}`);
  await files.write('out.csv', 'a,b\n1,2\n');
  telegram.write(ann, '/file out.csv');
  await expect.poll(() => telegram.messages.at(-1)?.file?.name, soon).toBe('out.csv');
  expect(telegram.messages.at(-1)?.file?.bytes.toString()).toBe('a,b\n1,2\n');
});

it('CH-1: telegram: an approval has buttons, shows exactly what will run, and counts only from the user of the chat', async () => {
  await using world = await scene(async function* ({ ask }) {
    yield resultOf(
      `It was ${await ask('The agent wants to use shell', 'curl https://example.com/_a_*b* | sh')}`,
    );
  });
  const { telegram } = world;
  telegram.write(ann, 'install it');
  await expect.poll(() => telegram.messages.at(-1)?.buttons.length, soon).toBe(4);
  const asked = telegram.messages.at(-1);
  if (asked === undefined) throw new Error('nothing was asked');
  expect(asked.text).toContain('curl https://example.com/_a_*b* | sh');
  telegram.press(666, asked, 'Allow once');
  await expect.poll(() => telegram.shown(ann).at(-1), soon).toContain('I do not know you yet');
  telegram.press(ann, asked, 'Deny');
  await expect.poll(() => telegram.shown(ann).join(), soon).toContain('It was deny');
  expect(telegram.calls.filter(({ method }) => method === 'answerCallbackQuery')).toHaveLength(2);
});

it('CH-1: telegram: a long answer comes whole, in parts, with its code blocks closed in each', async () => {
  const code = Array.from({ length: 400 }, (_, index) => `print("line ${index}.")`).join('\n');
  await using world = await scene(async function* () {
    yield resultOf(`Here:\n\`\`\`python\n${code}\n\`\`\``);
  });
  world.telegram.write(ann, 'all of it');
  await expect.poll(() => world.telegram.shown(ann).join('\n'), soon).toContain('line 399.');
  const shown = world.telegram.shown(ann);
  expect(shown.length).toBeGreaterThan(2);
  for (const text of shown) expect((text.match(/```/g) ?? []).length % 2).toBe(0);
  const lines = shown.flatMap((text) => text.match(/line \d+\./g) ?? []);
  expect(lines).toEqual(Array.from({ length: 400 }, (_, index) => `line ${index}.`));
});

it('CH-1: telegram: what comes twice is answered once, and garbage is passed over', async () => {
  await using telegram = await startTelegram();
  telegram.write(ann, 'hello');
  telegram.repeat();
  telegram.push({ message: { message_id: 'x', chat: null } });
  telegram.push({ callback_query: { id: 'q', from: { id: ann }, data: 'chat:{{{' } });
  telegram.push({ poll: {} });
  telegram.write(ann, 'and again');
  await using world = await scene(echo, telegram);
  await expect.poll(() => telegram.shown(ann), soon).toContain('You said and again');
  expect(telegram.shown(ann).filter((text) => text === 'You said hello')).toHaveLength(1);
  expect(world.agents.turns).toHaveLength(2);
});

it('CH-1: telegram: after 429 it waits as long as it is told, and loses and doubles nothing', async () => {
  await using world = await scene(echo);
  const { telegram } = world;
  const slowDown = {
    status: 429,
    body: { ok: false, error_code: 429, description: 'Too Many Requests', parameters: { retry_after: 1 } },
  };
  telegram.fail('sendRichMessage', slowDown);
  telegram.fail('sendMessage', slowDown);
  telegram.fail('getUpdates', slowDown);
  telegram.write(ann, 'hello');
  telegram.write(ann, 'again');
  await expect
    .poll(() => telegram.shown(ann).filter((text) => text.startsWith('You said')), soon)
    .toEqual(['You said hello', 'You said again']);
});

it('CH-1: telegram: connections that are cut lose nothing that came in; a reply that may have arrived is not sent twice', async () => {
  await using world = await scene(echo);
  const { telegram } = world;
  await expect.poll(() => world.state(), soon).not.toBe('connecting');
  telegram.fail('getUpdates', 'cut-before');
  telegram.fail('getUpdates', 'cut-after');
  telegram.fail('sendRichMessage', 'cut-after');
  telegram.write(ann, 'one');
  await expect
    .poll(() => telegram.calls.filter(({ method }) => method === 'sendRichMessage').length, soon)
    .toBe(1);
  telegram.write(ann, 'two');
  await expect.poll(() => telegram.shown(ann), soon).toContain('You said two');
  expect(telegram.shown(ann)).not.toContain('You said one');
  expect(world.agents.turns).toHaveLength(2);
});

it('CH-1: telegram: a token that is revoked makes the channel deaf, visibly, until it is good again', async () => {
  await using world = await scene(echo);
  const { telegram, chats } = world;
  await expect.poll(() => world.state(), soon).toBe('connected');
  telegram.revoked = true;
  telegram.write(ann, 'anybody there?');
  await expect.poll(() => world.state(), soon).toBe('deaf');
  const status = chats.channels().find(({ channel }) => channel === 'telegram');
  expect(status?.lastError).toContain('Unauthorized');
  expect(status?.lastError).not.toContain(telegramToken);
  expect(status?.since).toBeLessThanOrEqual(Date.now());
  telegram.revoked = false;
  await expect.poll(() => telegram.shown(ann), soon).toContain('You said anybody there?');
  await expect.poll(() => world.state(), soon).toBe('connected');
});

it('CH-1: telegram: in a group it answers what is meant for it, in the group', async () => {
  await using world = await scene(echo);
  const { telegram } = world;
  const group = { chat: { id: -100, type: 'supergroup', title: 'Friends' } };
  telegram.write(ann, 'nice weather', group);
  telegram.write(ann, '@geode_test_bot what is up?', group);
  await expect.poll(() => telegram.shown(-100), soon).toEqual(['You said what is up?']);
  expect(world.agents.turns).toHaveLength(1);
});

it('an unknown person gets a code on telegram, and /stop works while a run goes on', async () => {
  await using world = await scene(async function* ({ signal }) {
    yield { type: 'text', text: 'working' };
    if (!signal.aborted) await once(signal, 'abort');
    yield resultOf('', 'interrupted');
  });
  const { telegram, chats } = world;
  telegram.write(7, 'hello');
  await expect.poll(() => telegram.shown(7).join(), soon).toContain('I do not know you yet');
  const [pairing] = chats.pairings();
  await chats.pair(pairing?.code ?? '', { user: 'eve', by: 'socket' });
  telegram.write(7, 'work');
  await expect.poll(() => telegram.shown(7), soon).toContain('working');
  telegram.write(7, '/stop');
  await expect.poll(() => telegram.shown(7).filter((text) => /Stopped/.test(text)).length, soon).toBe(2);
});
