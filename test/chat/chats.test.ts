import { once } from 'node:events';
import { expect, it } from 'vitest';
import { GeodeError, isGeodeError } from '../../src/base/errors.ts';
import { type AgentScript, resultOf } from '../fixtures/scripted-agents.ts';
import { chatScene, expired } from './scene.ts';

const soon = { timeout: 30_000 };

const echo: AgentScript = async function* ({ message }) {
  yield { type: 'text', text: 'You said ' };
  yield { type: 'text', text: message.text };
  yield resultOf(`You said ${message.text}`);
};

/** Works until it is interrupted. */
const endless: AgentScript = async function* ({ signal }) {
  yield { type: 'text', text: 'I work' };
  if (!signal.aborted) await once(signal, 'abort');
  yield resultOf('I worked', 'interrupted');
};

it('GW-1: answers each message once and in order, and the draft becomes the answer', async () => {
  await using scene = await chatScene(echo);
  const { channel } = scene;
  for (let step = 0; step < 10; step += 1) await channel.say('ann', `m${step}`, { id: `id-${step % 5}` });
  await expect
    .poll(() => channel.shown('ann').filter((text) => text.startsWith('You said')), soon)
    .toEqual(['m0', 'm1', 'm2', 'm3', 'm4'].map((text) => `You said ${text}`));
  expect(scene.agents.turns.map(({ message }) => message.text)).toEqual(['m0', 'm1', 'm2', 'm3', 'm4']);
});

it('GW-2: a message during a run waits, gets its queue position, and is answered next; /stop ends the run at once', async () => {
  await using scene = await chatScene(async function* (turn) {
    yield* turn.message.text === 'first' ? endless(turn) : echo(turn);
  });
  const { channel } = scene;
  await channel.say('ann', 'first');
  await expect.poll(() => channel.shown('ann'), soon).toContain('I work …');
  await channel.say('ann', 'second');
  await expect
    .poll(() => channel.shown('ann'), soon)
    .toContain('Noted. One message is before it here; /stop ends the run.');
  await channel.say('ann', '/stop');
  await expect.poll(() => channel.shown('ann'), soon).toContain('You said second');
  expect(channel.shown('ann')).toContain('I worked\n\n(stopped)');
  // The command has a lane of its own.
  await expect.poll(() => channel.shown('ann'), soon).toContain('Stopped.');
});

it('GW-2: runs up to the limit of turns at once, notifies the waiting chats, and answers all', async () => {
  const go = Promise.withResolvers<void>();
  let running = 0;
  let most = 0;
  const people = ['p1', 'p2', 'p3', 'p4', 'p5'];
  await using scene = await chatScene(
    async function* (turn) {
      running += 1;
      most = Math.max(most, running);
      await go.promise;
      running -= 1;
      yield* echo(turn);
    },
    { concurrency: 2, allowed: { test: Object.fromEntries(people.map((name) => [name, name])) } },
  );
  const { channel } = scene;
  for (const name of people) await channel.say(name, 'hello');
  await expect.poll(() => running, soon).toBe(2);
  await expect
    .poll(() => channel.shown('p5'), soon)
    .toEqual(['Noted. All agents are busy; 4 messages are ahead.']);
  go.resolve();
  for (const name of people) await expect.poll(() => channel.shown(name), soon).toContain('You said hello');
  expect(most).toBe(2);
});

it('GW-2: another person cannot stop a run', async () => {
  await using scene = await chatScene(endless);
  const { channel } = scene;
  await channel.say('room', 'work', { sender: { id: 'ann', name: 'Ann' }, isGroup: true });
  await expect.poll(() => channel.shown('room'), soon).toContain('I work …');
  await channel.say('room', '/stop', { sender: { id: 'bob', name: 'Bob' }, isGroup: true });
  await expect
    .poll(() => channel.shown('room'), soon)
    .toContainEqual(expect.stringContaining('This chat belongs to another person'));
  expect(scene.agents.turns[0]?.signal.aborted).toBe(false);
  await channel.say('room', '/stop', { sender: { id: 'ann', name: 'Ann' }, isGroup: true });
  await expect.poll(() => channel.shown('room'), soon).toContain('Stopped.');
});

it('in a group, messages that do not address the bot are not stored', async () => {
  await using scene = await chatScene(echo);
  await scene.channel.say('room', 'by the way', { isGroup: true, isAddressed: false });
  await scene.channel.say('ann', 'hello');
  await expect.poll(() => scene.channel.shown('ann'), soon).toContain('You said hello');
  expect(scene.channel.shown('room')).toEqual([]);
  expect(scene.agents.turns).toHaveLength(1);
});

it('GW-3: an unknown sender gets a code and runs nothing; after the owner confirms it, the sender is allowed', async () => {
  await using scene = await chatScene(echo);
  const { channel, chats } = scene;
  await channel.say('eve', 'do something');
  await expect.poll(() => channel.shown('eve')[0], soon).toContain('I do not know you yet');
  const [pairing] = chats.pairings();
  expect(pairing).toMatchObject({ channel: 'test', sender: 'eve', name: 'Person eve' });
  expect(channel.shown('eve')[0]).toContain(pairing?.code ?? 'no code');
  expect(scene.agents.turns).toEqual([]);
  await expect(chats.pair('WRONG', { user: 'eve', by: 'socket' })).rejects.toMatchObject({
    code: 'pairing_not_found',
  });
  await chats.pair(pairing?.code.toLowerCase() ?? '', { user: 'eve', by: 'socket' });
  await expect.poll(() => channel.shown('eve').join(), soon).toContain('You are paired');
  await expect.poll(() => channel.shown('eve').at(-1), soon).toBe('You said do something');
  await channel.say('eve', 'hello');
  await expect.poll(() => channel.shown('eve').at(-1), soon).toBe('You said hello');
  expect(scene.agents.turns[0]).toMatchObject({
    user: 'eve',
    chat: 'test:eve',
    message: { text: 'do something' },
  });
  await expect(chats.pair(pairing?.code ?? '', { user: 'eve', by: 'socket' })).rejects.toSatisfy((error) =>
    isGeodeError(error, 'pairing_not_found'),
  );
  expect(chats.senders()).toMatchObject([{ sender: 'eve', user: 'eve', pairedBy: 'socket' }]);
  expect(chats.unpair('test', 'eve', 'socket')).toBe(true);
  await channel.say('eve', 'and again');
  await expect.poll(() => channel.shown('eve').at(-1), soon).toContain('I do not know you yet');
});

it('GW-3: refuses a turn before the model is asked when the budget of the day is spent', async () => {
  await using scene = await chatScene(echo, { dailyBudget: { usd: 0, tokens: null } });
  await scene.channel.say('ann', 'hello');
  await expect
    .poll(() => scene.channel.shown('ann').at(-1), soon)
    .toContain('the budget for today is spent: $0.00 of $0.00');
  expect(scene.agents.turns).toEqual([]);
  await scene.channel.say('ann', '/status');
  await expect.poll(() => scene.channel.shown('ann').at(-1), soon).toContain('Spent today: $0.00 of $0.00');
});

it('GW-3: limits the messages of a sender each minute, and notifies the sender once about refused ones', async () => {
  await using scene = await chatScene(echo, { messagesPerMinute: 3 });
  for (let step = 0; step < 5; step += 1) await scene.channel.say('ann', `m${step}`);
  await scene.channel.say('bob', 'hello');
  await expect.poll(() => scene.channel.shown('bob'), soon).toContain('You said hello');
  const refused = () => scene.channel.shown('ann').filter((text) => text.includes('was not accepted'));
  await expect.poll(() => refused().length, soon).toBe(1);
  await expect.poll(() => scene.agents.turns.length, soon).toBe(4);
});

it('GW-3: shows exactly what a tool would do, and only the user of the chat can allow it', async () => {
  await using scene = await chatScene(async function* ({ ask }) {
    yield resultOf(`It was ${await ask('The agent wants to use shell', 'rm -r build')}`);
  });
  const { channel } = scene;
  const ann = { sender: { id: 'ann', name: 'Ann' }, isGroup: true };
  await channel.say('room', 'clean up', ann);
  await expect.poll(() => channel.shown('room').at(-1), soon).toContain('```\nrm -r build\n```');
  const buttons = channel.sent.at(-1)?.buttons ?? [];
  expect(buttons.map(({ label }) => label)).toEqual([
    'Allow once',
    'Allow this session',
    'Always allow',
    'Deny',
  ]);
  const allow = buttons[0]?.value ?? '';
  await channel.say('room', allow, { sender: { id: 'bob', name: 'Bob' }, isGroup: true });
  await expect.poll(() => channel.shown('room').at(-1), soon).toContain('belongs to another person');
  await channel.say('room', allow, ann);
  await expect.poll(() => channel.shown('room'), soon).toContain('It was allow-once');
  await channel.say('room', allow, ann);
  await expect.poll(() => channel.shown('room').at(-1), soon).toContain('already answered or expired');
});

it('GW-3: no decision in time counts as denied, and a late button does nothing', async () => {
  let isShown = () => false;
  await using scene = await chatScene(async function* ({ ask }) {
    yield resultOf(`It was ${await expired(ask, () => isShown())}`);
  });
  const { channel } = scene;
  isShown = () => channel.sent.some(({ buttons = [] }) => buttons.length > 0);
  await channel.say('ann', 'clean up');
  await expect.poll(() => channel.shown('ann'), soon).toContain('It was deny');
  const allow = channel.sent.find(({ buttons }) => (buttons ?? []).length > 0)?.buttons?.[0]?.value ?? '';
  await channel.say('ann', allow);
  await expect.poll(() => channel.shown('ann').at(-1), soon).toContain('already answered or expired');
});

it('GW-3: checks the token budget before the model call, and /status shows it', async () => {
  await using scene = await chatScene(echo, { dailyBudget: { usd: null, tokens: 0 } });
  await scene.channel.say('ann', 'hello');
  await expect
    .poll(() => scene.channel.shown('ann').at(-1), soon)
    .toContain('the tokens for today are spent');
  expect(scene.agents.turns).toEqual([]);
  await scene.channel.say('ann', '/status');
  await expect.poll(() => scene.channel.shown('ann').at(-1), soon).toContain('0 of 0 tokens');
});

it('reports a failure of the agent in the chat, and answers the next message', async () => {
  let first = true;
  await using scene = await chatScene(async function* (turn) {
    if (first) {
      first = false;
      throw new GeodeError('provider_refused', 'The key is wrong.');
    }
    yield* echo(turn);
  });
  await scene.channel.say('ann', 'one');
  await scene.channel.say('ann', 'two');
  await expect.poll(() => scene.channel.shown('ann').at(-1), soon).toBe('You said two');
  expect(scene.channel.shown('ann')).toContainEqual(expect.stringContaining('Failed: The key is wrong.'));
});

it('GW-4: /new starts a new conversation, /model starts one with another model, /help lists the commands', async () => {
  await using scene = await chatScene(echo);
  const { channel, agents } = scene;
  await channel.say('ann', '/new');
  await expect.poll(() => channel.shown('ann').at(-1), soon).toContain('A new conversation starts');
  expect(agents.stopped).toEqual(['test:ann']);
  await channel.say('ann', '/model mine/large');
  await channel.say('ann', 'hello');
  await expect.poll(() => channel.shown('ann').at(-1), soon).toBe('You said hello');
  expect(agents.turns[0]?.model).toBe('mine/large');
  await channel.say('ann', '/help');
  await expect.poll(() => channel.shown('ann').join('\n'), soon).toContain('/file PATH');
  expect(channel.shown('ann').join('\n')).toContain('/approve CODE');
  await channel.say('ann', '/undo');
  await expect.poll(() => channel.shown('ann').at(-1), soon).toBe('There is nothing to undo.');
});

it('sends a file of the workspace, and reports a missing one', async () => {
  await using scene = await chatScene(echo);
  const { channel, sandboxes } = scene;
  const { files } = await sandboxes.of('ann').getOrCreate('test:ann');
  await files.write('out/report.txt', 'all is well');
  await channel.say('ann', '/file out/report.txt');
  await expect.poll(() => channel.sent.at(-1)?.file?.name, soon).toBe('report.txt');
  expect(Buffer.from(channel.sent.at(-1)?.file?.bytes ?? []).toString()).toBe('all is well');
  await channel.say('ann', '/file ../../etc/nothing-here');
  await expect.poll(() => channel.shown('ann').at(-1), soon).toContain('The file cannot be sent');
});

it('splits a long answer, and sends a part that was put off later, in order', async () => {
  const long = Array.from({ length: 60 }, (_, index) => `line ${index} of the answer`).join('\n');
  await using scene = await chatScene(async function* () {
    yield resultOf(long);
  });
  const error = new GeodeError('channel_failed', 'slow down');
  scene.channel.next.push({ outcome: 'not-sent', retryAfterMs: 10, error });
  await scene.channel.say('ann', 'tell me all');
  await expect.poll(() => scene.channel.shown('ann').join('\n'), soon).toBe(long);
  for (const text of scene.channel.shown('ann')) expect(text.length).toBeLessThanOrEqual(500);
});

it('does not send a reply again when its delivery is unknown', async () => {
  await using scene = await chatScene(async function* ({ message }) {
    yield resultOf(`answer to ${message.text}`);
  });
  const error = new GeodeError('channel_failed', 'the connection was cut');
  scene.channel.next.push({ outcome: 'unknown', error });
  await scene.channel.say('ann', 'one');
  await expect.poll(() => scene.channel.next, soon).toEqual([]);
  await scene.channel.say('ann', 'two');
  await expect.poll(() => scene.channel.shown('ann'), soon).toContain('answer to two');
  expect(scene.channel.shown('ann')).not.toContain('answer to one');
});

it('the web has its own chats, reads events from any sequence number, and sees nothing of another user', async () => {
  await using scene = await chatScene(echo);
  const own = scene.chats.of('ann');
  const posted = await own.post('plans', { text: 'hello', key: 'k1' });
  expect(await own.post('plans', { text: 'hello', key: 'k1' })).toMatchObject({
    id: posted.id,
    isNew: false,
  });
  const heard: string[] = [];
  let first = 0;
  for await (const event of own.events('plans', { signal: AbortSignal.timeout(30_000) })) {
    if (event.type === 'message') first = event.seq;
    heard.push(event.type);
    if (event.type === 'reply' && event.isLast) {
      expect(event).toMatchObject({ text: 'You said hello', answers: posted.id });
      break;
    }
  }
  expect(heard[0]).toBe('message');
  const again: string[] = [];
  for await (const event of own.events('plans', { after: first, follow: false })) again.push(event.type);
  expect(again).toEqual(['reply']);
  for await (const event of scene.chats.of('bob').events('plans', { follow: false }))
    throw new Error(`bob heard of ${event.type}`);
  expect(own.list()).toMatchObject([{ name: 'plans', channel: 'web' }]);
  expect(scene.chats.of('bob').list()).toEqual([]);
  expect(scene.agents.turns[0]).toMatchObject({ user: 'ann', chat: 'plans' });
});

it('shows a paired person the chat on the web too, and answers messages from the web on the channel', async () => {
  await using scene = await chatScene(echo);
  await scene.channel.say('ann', 'hello');
  await expect.poll(() => scene.channel.shown('ann'), soon).toContain('You said hello');
  expect(scene.chats.of('ann').list()).toMatchObject([{ name: 'test:ann', channel: 'test' }]);
  await scene.chats.of('ann').post('test:ann', { text: 'from the web' });
  await expect.poll(() => scene.channel.shown('ann'), soon).toContain('You said from the web');
});

it('GW-4: /model refuses an unknown model, and keeps the conversation', async () => {
  await using scene = await chatScene(echo, {
    refusedModel: (name) => (name === 'nope/none' ? 'There is no service nope.' : undefined),
  });
  const { channel, agents } = scene;
  await channel.say('ann', '/model nope/none');
  await expect.poll(() => channel.shown('ann').at(-1), soon).toContain('There is no service nope.');
  expect(agents.stopped).toEqual([]);
  await channel.say('ann', 'hello');
  await expect.poll(() => channel.shown('ann').at(-1), soon).toBe('You said hello');
  expect(agents.turns[0]?.model).toBeUndefined();
});

it('GW-5: removes the schedules of an unpaired person', async () => {
  await using scene = await chatScene(echo);
  const { channel, chats } = scene;
  await channel.say('eve', 'hello');
  await expect.poll(() => chats.pairings().length, soon).toBe(1);
  await chats.pair(chats.pairings()[0]?.code ?? '', { user: 'eve', by: 'socket' });
  await channel.say('eve', '/schedule every 2h: look around');
  await channel.say('ann', '/schedule every 2h: look around');
  const schedules = (user: string) => chats.of(user).schedules.list().length;
  await expect.poll(() => schedules('eve'), soon).toBe(1);
  await expect.poll(() => schedules('ann'), soon).toBe(1);
  expect(chats.unpair('test', 'eve', 'socket')).toBe(true);
  expect(schedules('eve')).toBe(0);
  expect(schedules('ann')).toBe(1);
});
