/** Groups, topics, quotes, albums and changes, as people on Telegram mean them. */
import { expect, it } from 'vitest';
import { platformScene } from '../contracts/channel.ts';
import { type AgentScript, resultOf } from '../fixtures/scripted-agents.ts';
import { telegramHarness } from './telegram-harness.ts';

const soon = { timeout: 60_000 };
const ann = 42;
const friends = { chat: { id: -100, type: 'supergroup', title: 'Friends' } };
const bot = { id: 110201543, is_bot: true, first_name: 'Geode', username: 'geode_test_bot' };

const echo: AgentScript = async function* ({ message }) {
  yield resultOf(`You said ${message.text}`);
};

it('CH-1, GW-3: telegram: a forwarded message is never a command of the person who forwards it', async () => {
  await using platform = await telegramHarness();
  await using world = await platformScene('telegram', platform, echo);
  const { telegram } = platform;
  telegram.write(ann, '/new', { forward_origin: { type: 'user', date: 1 } });
  telegram.write(ann, '/deny ABCDEF', { forward_date: 1 });
  await expect
    .poll(() => world.agents.turns.map(({ message }) => message.text), soon)
    .toEqual(['Forwarded:\n/new', 'Forwarded:\n/deny ABCDEF']);
  expect(world.agents.stopped).toEqual([]);
  telegram.write(ann, '/new');
  await expect.poll(() => world.agents.stopped, soon).toHaveLength(1);
});

it('CH-1: telegram: a group that becomes a supergroup keeps its conversation and gets its answers', async () => {
  await using platform = await telegramHarness();
  const go = Promise.withResolvers<void>();
  await using world = await platformScene('telegram', platform, async function* ({ message }) {
    if (message.text.endsWith('slow')) await go.promise;
    yield resultOf(`You said ${message.text}`);
  });
  const { telegram } = platform;
  telegram.write(ann, '@geode_test_bot slow', { chat: { id: -55, type: 'group', title: 'Friends' } });
  await expect.poll(() => world.agents.turns.length, soon).toBe(1);
  telegram.migrate(-55, -10_077);
  go.resolve();
  await expect.poll(() => telegram.shown(-10_077), soon).toEqual(['You said [Person 42] slow']);
  const after = { chat: { id: -10_077, type: 'supergroup', title: 'Friends' } };
  telegram.write(ann, '@geode_test_bot and now?', after);
  await expect.poll(() => telegram.shown(-10_077).at(-1), soon).toBe('You said [Person 42] and now?');
  expect(new Set(world.agents.turns.map(({ chat }) => chat)).size).toBe(1);
  expect(telegram.shown(-55)).toEqual([]);
});

it('CH-1: telegram: each topic has its own conversation; a thread id without a topic does not', async () => {
  await using platform = await telegramHarness();
  await using world = await platformScene('telegram', platform, echo);
  const { telegram } = platform;
  const topic = (id: number) => ({ ...friends, message_thread_id: id, is_topic_message: true });
  telegram.write(ann, '@geode_test_bot seven', topic(7));
  telegram.write(ann, '@geode_test_bot eight', topic(8));
  telegram.write(ann, '@geode_test_bot beside', friends);
  telegram.write(ann, 'privately', { message_thread_id: 9 });
  const answer = { message_id: 1, date: 1, from: bot, text: 'You said', ...friends };
  telegram.write(ann, 'and a reply', { ...friends, message_thread_id: 5, reply_to_message: answer });
  await expect.poll(() => world.agents.turns.length, soon).toBe(5);
  await expect.poll(() => telegram.shown(ann), soon).toEqual(['You said privately']);
  // A message that arrives during the turn before it also gets a notice that it waits.
  const answers = () => telegram.shown(-100).filter((text) => text.startsWith('You said'));
  await expect.poll(() => answers().length, soon).toBe(4);
  const placeOf = (end: string) => {
    const call = telegram.calls.findLast(
      ({ method, payload }) => method !== 'sendChatAction' && JSON.stringify(payload).includes(end),
    );
    return call?.payload.message_thread_id;
  };
  expect(['seven', 'eight', 'beside', 'privately', 'and a reply'].map(placeOf)).toEqual([
    7,
    8,
    undefined,
    undefined,
    undefined,
  ]);
  const chatOf = (end: string) => world.agents.turns.find(({ message }) => message.text.includes(end))?.chat;
  expect(chatOf('and a reply')).toBe(chatOf('beside'));
  expect(new Set(world.agents.turns.map(({ chat }) => chat)).size).toBe(4);
});

it('CH-1: telegram: the bot reacts in a group only to its exact name', async () => {
  await using platform = await telegramHarness();
  await using world = await platformScene('telegram', platform, echo);
  const { telegram } = platform;
  for (const text of [
    '@geode_test_bot2 look',
    'write to x@geode_test_bottle.com',
    'or to me@geode_test_bot',
    'or @geode_test_bot.com',
    '/help@geode_test_bot2',
    '@Geode_Test_Bot, look',
  ])
    telegram.write(ann, text, friends);
  await expect.poll(() => telegram.shown(-100), soon).toEqual(['You said [Person 42] , look']);
  expect(world.agents.turns).toHaveLength(1);
});

it('CH-1: telegram: an album is one turn with all of its photos', async () => {
  await using platform = await telegramHarness();
  await using world = await platformScene('telegram', platform, async function* ({ message }) {
    yield resultOf(`${message.text}: ${message.attachments?.length}`);
  });
  const { telegram } = platform;
  for (const number of [1, 2, 3]) {
    telegram.addFile(`p${number}`, `photos/p${number}.jpg`, Buffer.from(`photo ${number}`));
    const photo = [
      { file_id: `p${number}`, file_unique_id: `u${number}`, width: 9, height: 9, file_size: 7 },
    ];
    const caption = number === 1 ? 'compare them' : undefined;
    telegram.write(ann, '', { text: undefined, caption, photo, media_group_id: 'album' });
  }
  await expect.poll(() => telegram.shown(ann), soon).toEqual(['compare them: 3']);
  telegram.write(ann, 'the end');
  await expect.poll(() => telegram.shown(ann).at(-1), soon).toContain('the end');
  const [album] = world.agents.turns;
  const bytes = album?.message.attachments?.map((each) => Buffer.from(each.bytes).toString());
  expect(bytes).toEqual(['photo 1', 'photo 2', 'photo 3']);
  expect(world.agents.turns).toHaveLength(2);
});

it('CH-1: telegram: the agent receives the message that a person replies to, with its author', async () => {
  await using platform = await telegramHarness();
  await using world = await platformScene('telegram', platform, echo);
  const bob = { id: 43, is_bot: false, first_name: 'Bob' };
  const chat = { id: ann, type: 'private', first_name: 'Person 42' };
  const answered = { message_id: 1, date: 1, chat, from: bob, text: 'It costs 7.\nOr 8.' };
  platform.telegram.write(ann, 'is that right?', { reply_to_message: answered });
  platform.telegram.write(ann, 'and this?', { reply_to_message: answered, quote: { text: 'Or 8.' } });
  await expect
    .poll(() => world.agents.turns.map(({ message }) => message.text), soon)
    .toEqual([
      'Reply to Bob:\n> It costs 7.\n> Or 8.\n\nis that right?',
      'Reply to Bob:\n> Or 8.\n\nand this?',
    ]);
});

it('GW-2: telegram: an edit of a waiting message replaces it', async () => {
  await using platform = await telegramHarness();
  const go = Promise.withResolvers<void>();
  await using world = await platformScene('telegram', platform, async function* (turn) {
    await go.promise;
    yield* echo(turn);
  });
  const { telegram } = platform;
  telegram.write(ann, 'slow');
  await expect.poll(() => world.agents.turns.length, soon).toBe(1);
  const waits = telegram.write(ann, 'wrong');
  telegram.push({ edited_message: { ...waits, text: 'right', edit_date: 1_800_000_000 } });
  telegram.write(ann, 'the end');
  const heard = async () => {
    const found: string[] = [];
    const chat = world.agents.turns[0]?.chat ?? '';
    for await (const event of world.chats.of('ann').events(chat, { follow: false }))
      if (event.type === 'message') found.push(event.text);
    return found;
  };
  await expect.poll(heard, soon).toEqual(['slow', 'right', 'the end']);
  go.resolve();
  await expect.poll(() => telegram.shown(ann).at(-1), soon).toBe('You said the end');
  expect(world.agents.turns.map(({ message }) => message.text)).toEqual(['slow', 'right', 'the end']);
});

it.each([true, false])(
  'CH-1: telegram: a wide table arrives with all of its cells (rich messages: %s)',
  async (rich) => {
    await using platform = await telegramHarness({ rich });
    const cells = Array.from({ length: 3 }, (_, row) =>
      Array.from({ length: 9 }, (_, column) => `cell-${row}-${column}-${'wide'.repeat(4)}`),
    );
    const [head = [], ...rows] = cells;
    const table = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
    await using _world = await platformScene('telegram', platform, async function* () {
      yield resultOf(`Here:\n\n${table}`);
    });
    const { telegram } = platform;
    telegram.write(ann, 'show it');
    await expect.poll(() => telegram.shown(ann).join('\n'), soon).toContain('Here');
    await expect
      .poll(() => telegram.shown(ann).join('\n').replaceAll('\\', ''), soon)
      .toContain(cells.at(-1)?.at(-1));
    const shown = telegram.shown(ann).join('\n').replaceAll('\\', '');
    for (const cell of cells.flat()) expect(shown).toContain(cell);
  },
);
