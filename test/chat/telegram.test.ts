import { once } from 'node:events';
import { expect, it } from 'vitest';
import { channelContract, platformScene } from '../contracts/channel.ts';
import { type AgentScript, resultOf } from '../fixtures/scripted-agents.ts';
import { telegramHarness } from './telegram-harness.ts';

const soon = { timeout: 60_000 };
const ann = 42;

channelContract('telegram', telegramHarness);

const echo: AgentScript = async function* ({ message }) {
  yield resultOf(`You said ${message.text}`);
};

it('CH-1: telegram: in a group the bot answers only messages addressed to it, in the group', async () => {
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

it('CH-1: telegram: an edited message arrives as a change', async () => {
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

it('CH-1: telegram: the commands are in the menu of the bot', async () => {
  await using platform = await telegramHarness();
  await using _world = await platformScene('telegram', platform, echo);
  const listed = () => platform.telegram.calls.filter(({ method }) => method === 'setMyCommands');
  await expect.poll(() => listed().length, soon).toBe(1);
  const commands = listed()[0]?.payload.commands;
  expect(commands).toContainEqual({
    command: 'stop',
    description: 'stop the run; all: drop the waiting messages too',
  });
  expect(JSON.stringify(commands)).not.toContain('"start"');
});
