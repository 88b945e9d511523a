/** Messages beside answers: each is sent once, and only when a person needs it. */
import { expect, it } from 'vitest';
import { GeodeError } from '../../src/base/errors.ts';
import { platformScene } from '../contracts/channel.ts';
import { type AgentScript, resultOf } from '../fixtures/scripted-agents.ts';
import { chatScene } from './scene.ts';
import { telegramHarness } from './telegram-harness.ts';

const soon = { timeout: 60_000 };

const echo: AgentScript = async function* ({ message }) {
  yield resultOf(`You said ${message.text}`);
};

it('GW-3: a stranger gets one code for all messages, and after pairing an answer to each', async () => {
  await using scene = await chatScene(echo);
  const { channel, chats } = scene;
  for (const text of ['one', 'two', 'three']) await channel.say('eve', text);
  const [{ code = '' } = {}] = chats.pairings();
  // The refusal of a command comes after the messages before it.
  await channel.say('eve', '/status');
  const codes = () => channel.sent.filter(({ text }) => text.includes('I do not know you yet'));
  await expect.poll(() => codes().length, soon).toBe(1);
  await chats.pair(chats.pairings()[0]?.code ?? code, { user: 'eve', by: 'socket' });
  const answers = () => channel.shown('eve').filter((text) => text.startsWith('You said'));
  await expect.poll(answers, soon).toEqual(['You said one', 'You said two', 'You said three']);
  expect(codes()).toHaveLength(1);
});

it('GW-2: a burst of messages during a run gets one queue notice', async () => {
  const go = Promise.withResolvers<void>();
  await using scene = await chatScene(async function* (turn) {
    if (turn.message.text === 'first') await go.promise;
    yield* echo(turn);
  });
  const { channel } = scene;
  await channel.say('ann', 'first');
  await expect.poll(() => scene.agents.turns.length, soon).toBe(1);
  const texts = Array.from({ length: 30 }, (_, index) => `more ${index}`);
  for (const text of texts) await channel.say('ann', text);
  go.resolve();
  await expect.poll(() => channel.shown('ann').at(-1), soon).toBe('You said more 29');
  const noted = channel.sent.filter(({ text }) => text.startsWith('Noted'));
  // A burst may lie on the border of two intervals.
  expect(noted.length).toBeGreaterThan(0);
  expect(noted.length).toBeLessThanOrEqual(2);
  expect(channel.shown('ann').filter((text) => text.startsWith('You said'))).toHaveLength(31);
});

it('CH-1: deleting the growing answer creates one new message, not one for each update', async () => {
  const pieces = Array.from({ length: 8 }, () => Promise.withResolvers<void>());
  await using scene = await chatScene(async function* () {
    for (const [index, { promise }] of pieces.entries()) {
      yield { type: 'text', text: `part ${index} ` };
      await promise;
    }
    yield resultOf('The whole answer.');
  });
  const { channel } = scene;
  const gone = { outcome: 'gone', error: new GeodeError('channel_failed', 'no such message') } as const;
  await channel.say('ann', 'write much');
  await expect.poll(() => channel.sent.length, soon).toBe(1);
  // Every edit of what was deleted is refused.
  const tried: string[] = [];
  const send = channel.send.bind(channel);
  channel.send = async (address, outgoing) => {
    if (outgoing.edits === undefined) return send(address, outgoing);
    tried.push(outgoing.text);
    return gone;
  };
  for (const { resolve } of pieces) {
    resolve();
    await new Promise(setImmediate);
  }
  await expect.poll(() => channel.sent.at(-1)?.text, soon).toBe('The whole answer.');
  expect(tried.length).toBeGreaterThan(0);
  expect(channel.sent).toHaveLength(2);
});

it('GW-3: in a group the owner of a chat allows other people to write, and the agent sees their names', async () => {
  await using scene = await chatScene(echo);
  const { channel } = scene;
  const group = (id: string, text: string) =>
    channel.say('friends', text, { isGroup: true, sender: { id, name: `Person ${id}` } });
  await group('ann', 'hello');
  await expect.poll(() => channel.shown('friends').at(-1), soon).toContain('[Person ann] hello');
  await group('bob', 'me too');
  await expect.poll(() => channel.shown('friends').at(-1), soon).toContain('`/share on`');
  await group('ann', '/share on');
  await group('bob', 'and now');
  await expect.poll(() => channel.shown('friends').at(-1), soon).toContain('[Person bob] and now');
  await group('bob', '/new');
  await expect.poll(() => channel.shown('friends').at(-1), soon).toContain('Only the owner');
  expect(scene.agents.turns.map(({ user }) => user)).toEqual(['ann', 'ann']);
});

it('CH-1: telegram: stickers, contacts and places get a short reply without a turn; pins get none', async () => {
  await using platform = await telegramHarness();
  await using world = await platformScene('telegram', platform, echo);
  const { telegram } = platform;
  const ann = Number(platform.ann);
  const sticker = {
    file_id: 's',
    file_unique_id: 's',
    type: 'regular',
    width: 1,
    height: 1,
    is_animated: false,
  };
  telegram.write(ann, '', { text: undefined, sticker: { ...sticker, is_video: false } });
  telegram.write(ann, '', { text: undefined, contact: { phone_number: '1', first_name: 'Bob' } });
  telegram.write(ann, '', { text: undefined, location: { latitude: 1, longitude: 1 } });
  telegram.write(ann, '', { text: undefined, pinned_message: { message_id: 1, date: 0, chat: { id: ann } } });
  telegram.write(ann, 'hello');
  await expect.poll(() => telegram.shown(ann).at(-1), soon).toBe('You said hello');
  const words = telegram.shown(ann).filter((text) => text.includes('I cannot read'));
  expect(words.length).toBeLessThanOrEqual(2);
  expect(words[0]).toContain('sticker');
  expect(world.agents.turns.map(({ message }) => message.text)).toEqual(['hello']);
});
