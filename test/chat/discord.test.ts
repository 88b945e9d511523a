import { join } from 'node:path';
import { expect, it } from 'vitest';
import { noLog } from '../../src/base/log.ts';
import { openChannelMarks } from '../../src/chat/channels/channel-marks.ts';
import { openDiscord } from '../../src/chat/channels/discord/discord.ts';
import { channelContract, type PlatformHarness, platformScene } from '../contracts/channel.ts';
import { type DiscordServer, discordToken, startDiscord } from '../fixtures/discord-server.ts';
import { type AgentScript, resultOf } from '../fixtures/scripted-agents.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const soon = { timeout: 60_000 };
const ann = '80351110224678912';
const eve = '66600000000000666';
const guild = '41771983423143937';
/** The direct messages of a person. */
const directly = (person: string) => `9${person}`;

interface DiscordHarness extends PlatformHarness {
  readonly server: DiscordServer;
}

async function discord(groups: 'addressed' | 'all' | 'off' = 'addressed'): Promise<DiscordHarness> {
  const server = await startDiscord();
  const folder = temporaryFolder();
  let last: Record<string, unknown> = {};
  const at = (person: string) => server.messages.filter(({ channel }) => channel === directly(person));
  const call = 'POST /channels/*/messages';
  return {
    server,
    ann,
    eve,
    secrets: [discordToken],
    bold: '**there**',
    longest: 2000,
    canEdit: true,
    open: () =>
      openDiscord({
        token: discordToken,
        apiUrl: server.url,
        groups,
        marks: openChannelMarks(join(folder.path, 'marks.db'), 'discord'),
        log: noLog,
        editEveryMs: 20,
      }),
    say(from, text, { file, as } = {}) {
      last = server.write(directly(from), from, text, {
        ...(file !== undefined && { attachments: [server.addFile(file.name, file.bytes)] }),
        ...(as !== undefined && { author: { id: from, username: 'e', global_name: as } }),
      });
    },
    repeat: () => server.dispatch('MESSAGE_CREATE', last),
    garbage() {
      server.dispatch('MESSAGE_CREATE', { id: 7, channel_id: null });
      server.dispatch('INTERACTION_CREATE', { id: '1', token: 't', type: 3, data: { custom_id: 'no' } });
      server.dispatch('NEVER_HEARD_OF', {});
      server.dispatch('MESSAGE_UPDATE', { id: '1', channel_id: '2', embeds: [] });
      server.raw('{{{');
      server.raw('[]');
    },
    shown: (to) =>
      at(to).map(({ buttons, ...rest }) => ({ ...rest, buttons: buttons.map(({ label }) => label) })),
    press(from, to, label) {
      const message = at(to).findLast(({ buttons }) => buttons.length > 0);
      if (message === undefined) throw new Error('No message has buttons');
      server.press(from, message, label);
    },
    hasTyped: () => server.calls.some((each) => each.call === 'POST /channels/*/typing'),
    drop: () => server.drop(),
    slowDown() {
      const body = { message: 'You are being rate limited.', retry_after: 1, global: false };
      for (let times = 0; times < 2; times += 1) server.fail(call, { status: 429, body });
    },
    cutSend: () => server.fail(call, 'cut-after'),
    settlesCuts: true,
    refuseSends(status, times) {
      for (let each = 0; each < times; each += 1) server.fail(call, { status, body: {} });
    },
    get revoked() {
      return server.revoked;
    },
    set revoked(value) {
      server.revoked = value;
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

channelContract('discord', discord);

const echo: AgentScript = async function* ({ message }) {
  yield resultOf(`You said ${message.text}`);
};

it('CH-1: discord: resumes after a lost connection, starts a new session when the old one is gone, and obeys the limits of the platform', async () => {
  await using platform = await discord();
  const { server } = platform;
  await using world = await platformScene('discord', platform, echo);
  platform.say(ann, 'one');
  await expect.poll(() => platform.shown(ann).length, soon).toBe(1);
  server.drop();
  await expect.poll(() => server.greetings, soon).toEqual(['identify', 'resume']);
  server.raw(JSON.stringify({ op: 7 }));
  await expect.poll(() => server.greetings.length, soon).toBe(3);
  server.drop('forget');
  platform.say(ann, 'two');
  await expect.poll(() => platform.shown(ann).at(-1)?.text, soon).toBe('You said two');
  expect(server.greetings).toEqual(['identify', 'resume', 'resume', 'identify']);
  expect(world.agents.turns).toHaveLength(2);
});

it('CH-1: discord: in a server answers only messages to the bot, in the channel or thread of the question', async () => {
  await using platform = await discord();
  const { server } = platform;
  await using world = await platformScene('discord', platform, echo);
  const here = { guild_id: guild };
  const meant = { ...here, mentions: [{ id: server.botId }] };
  server.write('500100', ann, 'nice weather', here);
  server.write('500100', ann, `<@${server.botId}> what is up?`, meant);
  server.write('500200', ann, `in a thread, <@!${server.botId}>`, meant);
  server.write('500100', ann, 'an answer', {
    ...meant,
    referenced_message: { author: { id: server.botId }, content: '' },
  });
  server.write('500100', '777', 'of a program', { ...meant, author: { id: '777', bot: true } });
  // A message that arrives during the turn before it also gets a notice that it waits.
  const at = (channel: string) =>
    server.messages
      .filter((each) => each.channel === channel && each.text.startsWith('You said'))
      .map(({ text }) => text);
  await expect
    .poll(() => at('500100'), soon)
    .toEqual([
      'You said [Person 80351110224678912] what is up?',
      'You said [Person 80351110224678912] an answer',
    ]);
  await expect.poll(() => at('500200'), soon).toEqual(['You said [Person 80351110224678912] in a thread,']);
  expect(world.agents.turns).toHaveLength(3);
  expect(new Set(world.agents.turns.map(({ chat }) => chat)).size).toBe(2);
});

it('CH-1: discord: an answer mentions no person, and an edited message arrives as a change', async () => {
  await using platform = await discord();
  const { server } = platform;
  await using world = await platformScene('discord', platform, async function* ({ message }) {
    yield resultOf(`@everyone ${message.text}`);
  });
  platform.say(ann, 'wrong');
  await expect.poll(() => platform.shown(ann).length, soon).toBe(1);
  expect(server.messages[0]?.mentions).toEqual({ parse: [] });
  const { id } = server.write(directly(ann), ann, 'x', { author: { id: '1', bot: true } });
  const changed = { id, channel_id: directly(ann), author: { id: ann, username: 'ann' }, content: 'right' };
  server.dispatch('MESSAGE_UPDATE', { ...changed, edited_timestamp: null });
  server.dispatch('MESSAGE_UPDATE', { ...changed, edited_timestamp: '2026-11-16T20:00:00Z' });
  await expect.poll(() => world.agents.turns.at(-1)?.message.text, soon).toBe('(edited) right');
  expect(world.agents.turns).toHaveLength(2);
});

it('CH-1, GW-3: discord: a forwarded message is never a command of the person who forwards it', async () => {
  await using platform = await discord();
  const { server } = platform;
  await using world = await platformScene('discord', platform, echo);
  server.write(directly(ann), ann, '', { message_snapshots: [{ message: { content: '/new' } }] });
  await expect
    .poll(() => world.agents.turns.map(({ message }) => message.text), soon)
    .toEqual(['Forwarded:\n/new']);
  await expect.poll(() => platform.shown(ann).length, soon).toBe(1);
  expect(world.agents.stopped).toEqual([]);
  platform.say(ann, '/new');
  await expect.poll(() => world.agents.stopped, soon).toHaveLength(1);
});

it('CH-1: discord: the agent receives the message that a person replies to', async () => {
  await using platform = await discord();
  await using world = await platformScene('discord', platform, echo);
  platform.server.write(directly(ann), ann, 'is that right?', {
    referenced_message: { author: { id: '7', username: 'bob' }, content: 'It costs 7.' },
  });
  await expect
    .poll(() => world.agents.turns.map(({ message }) => message.text), soon)
    .toEqual(['Reply to bob:\n> It costs 7.\n\nis that right?']);
});

it('CH-1: discord: replaces a file that Discord refuses by a note', async () => {
  await using platform = await discord();
  await using world = await platformScene('discord', platform, echo);
  platform.say(ann, 'hello');
  await expect.poll(() => platform.shown(ann).length, soon).toBe(1);
  const { files } = await world.sandboxes.of('ann').getOrCreate(world.agents.turns[0]?.chat ?? '');
  await files.write('out.csv', 'a,b');
  platform.server.fail('POST /channels/*/messages', {
    status: 413,
    body: { message: 'Request entity too large', code: 40005 },
  });
  platform.say(ann, '/file out.csv');
  const last = () => platform.shown(ann).at(-1);
  await expect.poll(() => last()?.text, soon).toContain('The file out.csv cannot be sent');
  expect(last()?.text).toContain('too large');
  expect(last()?.file).toBeUndefined();
});

it('CH-1: discord: registers its commands with the platform, and runs a chosen command once', async () => {
  await using platform = await discord();
  const { server } = platform;
  await using world = await platformScene('discord', platform, echo);
  await expect.poll(() => server.commands.map(({ name }) => name), soon).toContain('stop');
  expect(server.commands.map(({ name }) => name)).not.toContain('start');
  server.command(directly(ann), ann, 'status');
  await expect.poll(() => platform.shown(ann).at(-1)?.text, soon).toContain('Spent today');
  server.command(directly(ann), ann, 'steer', 'on');
  await expect.poll(() => platform.shown(ann).at(-1)?.text, soon).toContain('added to it');
  expect(platform.shown(ann)).toHaveLength(2);
  // Discord shows a command without an answer as failed.
  const answered = () => server.calls.filter(({ call }) => call === 'POST /interactions/*/callback');
  await expect.poll(() => answered().map(({ payload }) => payload.type), soon).toEqual([4, 4]);
  expect(world.agents.turns).toHaveLength(0);
});
