import { join } from 'node:path';
import { expect, it } from 'vitest';
import { noLog } from '../../src/base/log.ts';
import { openChannelMarks } from '../../src/chat/channels/channel-marks.ts';
import { openSlack } from '../../src/chat/channels/slack/slack.ts';
import { channelContract, type PlatformHarness, platformScene } from '../contracts/channel.ts';
import { type AgentScript, resultOf } from '../fixtures/scripted-agents.ts';
import {
  type SlackServer,
  slackAppToken,
  slackBotToken,
  slackBotUser,
  startSlack,
} from '../fixtures/slack-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const soon = { timeout: 60_000 };
const ann = 'U0ANN';
const eve = 'U0EVE';
/** The direct messages of a person. */
const directly = (person: string) => `D${person}`;

interface SlackHarness extends PlatformHarness {
  readonly server: SlackServer;
}

async function slack(): Promise<SlackHarness> {
  const server = await startSlack();
  const folder = temporaryFolder();
  let last: Record<string, unknown> = {};
  const at = (person: string) => server.messages.filter(({ channel }) => channel === directly(person));
  return {
    server,
    ann,
    eve,
    secrets: [slackBotToken, slackAppToken],
    bold: '**there**',
    longest: 12_000,
    canEdit: true,
    open: () =>
      openSlack({
        botToken: slackBotToken,
        appToken: slackAppToken,
        apiUrl: server.url,
        groups: 'addressed',
        marks: openChannelMarks(join(folder.path, 'marks.db'), 'slack'),
        log: noLog,
        editEveryMs: 20,
      }),
    say(from, text, { file, as } = {}) {
      last = server.write(directly(from), from, text, {
        ...(file !== undefined && { subtype: 'file_share', files: [server.addFile(file.name, file.bytes)] }),
        ...(as !== undefined && { user_profile: { display_name: as } }),
      });
    },
    repeat: () => server.event(last),
    garbage() {
      server.event({ type: 'message', ts: 7 });
      server.event({ type: 'never_heard_of' });
      server.event(null);
      server.event({ type: 'message', subtype: 'channel_join', channel: 'D1', user: ann, ts: '1.1' });
      server.raw('{{{');
      server.raw('[]');
      server.raw(JSON.stringify({ type: 'interactive', envelope_id: 'x', payload: { actions: 7 } }));
    },
    shown: (to) =>
      at(to).map(({ buttons, ...rest }) => ({ ...rest, buttons: buttons.map(({ label }) => label) })),
    press(from, to, label) {
      const message = at(to).findLast(({ buttons }) => buttons.length > 0);
      if (message === undefined) throw new Error('No message has buttons');
      server.press(from, message, label);
    },
    hasTyped: () => server.calls.some(({ method }) => method === 'assistant.threads.setStatus'),
    drop: () => server.drop(),
    slowDown() {
      const slow = {
        status: 429,
        body: { ok: false, error: 'ratelimited' },
        headers: { 'retry-after': '1' },
      };
      for (let times = 0; times < 2; times += 1) server.fail('chat.postMessage', slow);
    },
    cutSend: () => server.fail('chat.postMessage', 'cut-after'),
    settlesCuts: true,
    refuseSends(status, times) {
      for (let each = 0; each < times; each += 1) server.fail('chat.postMessage', { status, body: {} });
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

channelContract('slack', slack);

const echo: AgentScript = async function* ({ message }) {
  yield resultOf(`You said ${message.text}`);
};

it('CH-1: slack: acknowledges stored messages, and reconnects when Slack requests it', async () => {
  await using platform = await slack();
  const { server } = platform;
  await using world = await platformScene('slack', platform, echo);
  platform.say(ann, 'one');
  await expect.poll(() => platform.shown(ann).length, soon).toBe(1);
  await expect.poll(() => server.acknowledged.length, soon).toBe(1);
  server.refresh();
  const opened = () => server.calls.filter(({ method }) => method === 'apps.connections.open').length;
  await expect.poll(opened, soon).toBe(2);
  platform.say(ann, 'two');
  await expect.poll(() => platform.shown(ann).at(-1)?.text, soon).toBe('You said two');
  expect(world.status()).toMatchObject({ state: 'connected', lastError: null });
});

it('CH-1: slack: in a channel answers only messages to the bot, in the thread of the question', async () => {
  await using platform = await slack();
  const { server } = platform;
  await using world = await platformScene('slack', platform, echo);
  server.write('C0ALL', ann, 'nice weather');
  const asked = server.write('C0ALL', ann, `<@${slackBotUser}> what &lt;is&gt; *up*?`);
  server.event({ ...asked, type: 'app_mention' });
  server.write('C0ALL', ann, `<@${slackBotUser}> deeper`, { thread_ts: '1699.0001' });
  server.write('C0ALL', 'U0BOT', `<@${slackBotUser}> beep`, { bot_id: 'B1' });
  await expect.poll(() => server.messages.length, soon).toBe(2);
  const [first, second] = server.messages.toSorted((a) => (a.thread === undefined ? -1 : 1));
  expect(first).toMatchObject({
    text: `You said [Person ${ann}] what <is> **up**?`,
    channel: 'C0ALL',
    thread: undefined,
  });
  expect(second).toMatchObject({
    text: `You said [Person ${ann}] deeper`,
    channel: 'C0ALL',
    thread: '1699.0001',
  });
  expect(world.agents.turns).toHaveLength(2);
});

it('CH-1: slack: an answer notifies nobody, and an edited message arrives as a change', async () => {
  await using platform = await slack();
  const { server } = platform;
  await using world = await platformScene('slack', platform, async function* ({ message }) {
    yield resultOf(`<!channel> ${message.text}`);
  });
  platform.say(ann, 'wrong');
  await expect.poll(() => platform.shown(ann).length, soon).toBe(1);
  expect(platform.shown(ann)[0]?.text).not.toContain('<!channel>');
  const message = { ts: '1700000001.000100', user: ann, text: 'right', edited: { ts: '1700000009.0' } };
  const change = {
    type: 'message',
    subtype: 'message_changed',
    channel: directly(ann),
    ts: '1700000009.1',
    message,
  };
  server.event({ ...change, previous_message: { text: 'right' } });
  server.event({ ...change, previous_message: { text: 'wrong' } });
  await expect.poll(() => world.agents.turns.at(-1)?.message.text, soon).toBe('(edited) right');
  expect(world.agents.turns).toHaveLength(2);
});

it('CH-1: slack: slash commands reach a run, by their own name and behind /geode', async () => {
  await using platform = await slack();
  const { server } = platform;
  await using world = await platformScene('slack', platform, async function* ({ message, signal }) {
    if (message.text === 'wait') await new Promise((resolve) => signal.addEventListener('abort', resolve));
    yield resultOf(`You said ${message.text}`, signal.aborted ? 'interrupted' : 'done');
  });
  const said = () => platform.shown(ann).map(({ text }) => text);
  const ways = [
    ['/geode', 'stop'],
    ['/stop', ''],
  ] as const;
  for (const [index, [command, text]] of ways.entries()) {
    platform.say(ann, 'wait');
    await expect.poll(() => world.agents.turns.length, soon).toBe(index + 1);
    server.command(directly(ann), ann, command, text);
    const stopped = () => said().filter((each) => each === 'Stopped.').length;
    await expect.poll(stopped, soon).toBe(index + 1);
    const kept = () => said().filter((each) => each.includes('(stopped)')).length;
    await expect.poll(kept, soon).toBe(index + 1);
  }
  server.command(directly(ann), ann, '/geode', '');
  await expect.poll(() => said().at(-1), soon).toContain('/schedule');
  server.command(directly(ann), ann, '/geode', 'hello there');
  await expect.poll(() => said().at(-1), soon).toBe('You said hello there');
  await expect.poll(() => server.acknowledged.length, soon).toBeGreaterThanOrEqual(6);
});
