import { expect, it } from 'vitest';
import { noLog } from '../../src/base/log.ts';
import { openWhatsApp } from '../../src/chat/channels/whatsapp/whatsapp.ts';
import { startTestServer } from '../api/server-fixture.ts';
import { channelContract, type PlatformHarness, platformScene } from '../contracts/channel.ts';
import { type AgentScript, resultOf } from '../fixtures/scripted-agents.ts';
import { changeOf, startWhatsApp, type WhatsAppServer, whatsAppKeys } from '../fixtures/whatsapp-server.ts';

const soon = { timeout: 60_000 };
const ann = '16505551234';
const eve = '16505556666';

interface WhatsAppHarness extends PlatformHarness {
  readonly server: WhatsAppServer;
}

async function whatsapp(): Promise<WhatsAppHarness> {
  const server = await startWhatsApp();
  let last: Record<string, unknown> = {};
  const at = (person: string) => server.messages.filter(({ to }) => to === person);
  const call = 'POST /phone/messages';
  return {
    server,
    ann,
    eve,
    secrets: [whatsAppKeys.token, whatsAppKeys.appSecret, whatsAppKeys.verifyToken],
    bold: '*there*',
    longest: 4096,
    canEdit: false,
    open: () => openWhatsApp({ ...whatsAppKeys, apiUrl: server.url, log: noLog, checkEveryMs: 100 }),
    async reach(chats) {
      const api = await startTestServer({ parts: { chats } });
      server.webhook = `${api.url}/webhooks/whatsapp`;
      return {
        async [Symbol.asyncDispose]() {
          server.webhook = undefined;
          await api[Symbol.asyncDispose]();
        },
      };
    },
    say(from, text, { file, as } = {}) {
      const document = file && {
        id: server.addFile(file.name, file.bytes),
        mime_type: 'text/plain',
        sha256: 'x',
        filename: file.name,
        caption: text,
      };
      const content =
        document === undefined ? { type: 'text', text: { body: text } } : { type: 'document', document };
      last = server.write(from, content, as);
    },
    repeat: () => server.push(changeOf(String(last.from), last, 'Ann')),
    garbage() {
      server.push(null);
      server.push({ metadata: 7 });
      server.push(changeOf(ann, { id: 7, type: 'text' }, 'Ann'));
      server.push(changeOf(ann, { id: 'wamid.r', from: ann, timestamp: '1', type: 'reaction' }, 'Ann'));
      server.push({ ...changeOf(ann, { id: 'other' }, 'Ann'), metadata: { phone_number_id: '1' } });
    },
    shown: (to) =>
      at(to).map(({ buttons, ...rest }) => ({
        ...rest,
        edits: 0,
        buttons: buttons.map(({ label }) => label),
      })),
    press(from, to, label) {
      const message = at(to).findLast(({ buttons }) => buttons.length > 0);
      if (message === undefined) throw new Error('No message has buttons');
      server.press(from, message, label);
    },
    hasTyped: () => server.calls.some(({ payload }) => payload.typing_indicator !== undefined),
    /** Meta's calls fail for a while, and come again. */
    drop() {
      const { webhook } = server;
      server.webhook = 'http://127.0.0.1:9/';
      setTimeout(() => {
        if (server.webhook !== undefined) server.webhook = webhook;
      }, 200);
    },
    slowDown() {
      // The limit of one pair of numbers, which says nothing of how long.
      const error = {
        message: '(#131056) (Business Account, Consumer Account) pair rate limit hit',
        code: 131056,
      };
      const slow = { status: 400, body: { error } };
      for (let times = 0; times < 2; times += 1) server.fail(call, slow);
    },
    cutSend() {
      // The first call shows that somebody writes.
      server.fail(call, 'cut-before');
      server.fail(call, 'cut-after');
    },
    settlesCuts: false,
    refuseSends(status, times) {
      for (let each = 0; each < times; each += 1) server.fail(call, { status, body: {} });
    },
    get revoked() {
      return server.revoked;
    },
    set revoked(value) {
      server.revoked = value;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

channelContract('whatsapp', whatsapp);

const echo: AgentScript = async function* ({ message }) {
  yield resultOf(`You said ${message.text}`);
};

it('CH-1: whatsapp: setting up the webhook needs the verify token', async () => {
  await using platform = await whatsapp();
  await using _world = await platformScene('whatsapp', platform, echo);
  const ask = async (token: string, mode = 'subscribe') => {
    const query = new URLSearchParams({
      'hub.mode': mode,
      'hub.verify_token': token,
      'hub.challenge': '1158201444',
    });
    const response = await fetch(`${platform.server.webhook}?${query}`);
    return { status: response.status, text: await response.text() };
  };
  expect(await ask(whatsAppKeys.verifyToken)).toEqual({ status: 200, text: '1158201444' });
  expect((await ask('something else')).status).toBe(401);
  expect((await ask(whatsAppKeys.verifyToken, 'unsubscribe')).status).toBe(401);
  expect((await fetch(`${platform.server.webhook}`)).status).toBe(401);
  const elsewhere = await fetch(`${platform.server.webhook}`.replace('whatsapp', 'telegram'));
  expect(elsewhere.status).toBe(404);
});

it('CH-1: whatsapp: a forged call is refused, a replayed call counts once, and both answers show no secret', async () => {
  await using platform = await whatsapp();
  const { server } = platform;
  await using world = await platformScene('whatsapp', platform, echo);
  const message = {
    id: 'wamid.forged',
    from: ann,
    timestamp: '1',
    type: 'text',
    text: { body: 'let me in' },
  };
  const entry = [{ id: '1', changes: [{ field: 'messages', value: changeOf(ann, message, 'Ann') }] }];
  const body = JSON.stringify({ object: 'whatsapp_business_account', entry });
  expect(await server.call(body, 'sha256=00')).toBe(401);
  expect(await server.call(body, '')).toBe(401);
  expect(await server.call(`${body} `, server.signatureOf(body))).toBe(401);
  expect(await server.call('no json', server.signatureOf('no json'))).toBe(200);
  expect(await server.call('x'.repeat(9 * 1024 ** 2))).toBe(413);
  expect(world.agents.turns).toHaveLength(0);
  for (let times = 0; times < 3; times += 1) expect(await server.call(body)).toBe(200);
  await expect.poll(() => platform.shown(ann).map(({ text }) => text), soon).toEqual(['You said let me in']);
  expect(world.agents.turns).toHaveLength(1);
});

it('CH-1: whatsapp: slows down a caller that guesses signatures', async () => {
  await using platform = await whatsapp();
  const { server } = platform;
  await using world = await platformScene('whatsapp', platform, echo);
  await using api = await startTestServer({
    parts: { chats: world.chats },
    failureRate: { perMinute: 1, burst: 2 },
  });
  server.webhook = `${api.url}/webhooks/whatsapp`;
  const statuses: number[] = [];
  for (let times = 0; times < 4; times += 1) statuses.push(await server.call('{}', 'sha256=00'));
  expect(statuses).toEqual([401, 401, 429, 429]);
  expect(await server.call(JSON.stringify({ entry: [] }))).toBe(200);
  server.webhook = undefined;
});

it('CH-1: whatsapp: the channel state shows a message that Meta accepted but did not deliver', async () => {
  await using platform = await whatsapp();
  await using world = await platformScene('whatsapp', platform, echo);
  const { messages: _, ...change } = changeOf(ann, {}, 'Ann');
  const errors = [{ code: 131047, title: 'Re-engagement message' }];
  platform.server.push({ ...change, statuses: [{ id: 'wamid.1', status: 'failed', errors }] });
  await expect.poll(() => world.status()?.lastError, soon).toContain('Re-engagement message');
});

it('CH-1, GW-3: whatsapp: a forwarded message is never a command of the person who forwards it', async () => {
  await using platform = await whatsapp();
  const { server } = platform;
  await using world = await platformScene('whatsapp', platform, echo);
  const command = { type: 'text', text: { body: '/new' } };
  server.write(ann, { ...command, context: { forwarded: true } });
  server.write(ann, { ...command, context: { frequently_forwarded: true } });
  // A message that arrives during the turn before it also gets a notice that it waits.
  const answers = () => platform.shown(ann).filter(({ text }) => text.startsWith('You said'));
  await expect.poll(() => answers().length, soon).toBe(2);
  const texts = world.agents.turns.map(({ message }) => message.text);
  expect(texts).toEqual(['Forwarded:\n/new', 'Forwarded:\n/new']);
  expect(world.agents.stopped).toEqual([]);
  server.write(ann, command);
  await expect.poll(() => world.agents.stopped, soon).toHaveLength(1);
});

it.each([
  ['2*3*4 and a_b_c', '2*3*4 and a_b_c'],
  ['**so** it is 2\\*3', '*so* it is 2*3'],
  ['- one\n- two. three!', '- one\n- two. three!'],
  ['see [the page](https://example.com/a_b)', 'see the page (https://example.com/a_b)'],
])('CH-1: whatsapp: %j arrives as %j', async (answer, read) => {
  await using platform = await whatsapp();
  await using _world = await platformScene('whatsapp', platform, async function* () {
    yield resultOf(answer);
  });
  platform.say(ann, 'how much?');
  await expect.poll(() => platform.shown(ann).map(({ text }) => text), soon).toEqual([read]);
});
