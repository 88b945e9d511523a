/** Tests for every channel, against a server that speaks the platform's protocol. */
import { expect, it } from 'vitest';
import type { Channel } from '../../src/seams/channel.ts';
import type { Chats } from '../../src/seams/chat.ts';
import { type ChatScene, chatScene } from '../chat/scene.ts';
import { type AgentScript, resultOf } from '../fixtures/scripted-agents.ts';

/** A message of the bot as a person sees it. */
interface ShownMessage {
  readonly text: string;
  readonly edits: number;
  readonly buttons: readonly string[];
  readonly file: { readonly name: string; readonly bytes: Buffer } | undefined;
}

interface SaidMore {
  readonly file?: { readonly name: string; readonly bytes: Buffer };
  /** The person's name on the platform. */
  readonly as?: string;
}

/** One platform: its server, and a channel that talks to it. */
export interface PlatformHarness extends AsyncDisposable {
  /** Ids of two people. */
  readonly ann: string;
  readonly eve: string;
  readonly secrets: readonly string[];
  /** How `**there**` reads there. */
  readonly bold: string;
  /** Characters that the platform takes at once. */
  readonly longest: number;
  readonly canEdit: boolean;
  /** A channel that remembers what an earlier one of this harness heard. */
  open(): Promise<Channel>;
  /** Sets the callback address of a platform that sends requests to Geode. */
  reach?(chats: Chats): Promise<AsyncDisposable>;
  say(from: string, text: string, more?: SaidMore): void;
  /** Repeats the last message, as the platform does. */
  repeat(): void;
  /** Several things that no platform should send. */
  garbage(): void;
  /** The bot's messages to a person. */
  shown(to: string): readonly ShownMessage[];
  /** Presses a button of the message that was shown to `at` last with buttons. */
  press(from: string, at: string, label: string): void;
  hasTyped(): boolean;
  /** Cuts what connects the channel with the platform. */
  drop(): void;
  /** The next sends are answered with 429 and a wait of a second. */
  slowDown(): void;
  /** The next send is taken, or perhaps not, and its connection is cut before the answer. */
  cutSend(): void;
  /** The next sends are refused with a status. */
  refuseSends(status: number, times: number): void;
  /** The platform shows once what is sent twice, or can be asked whether it has it. */
  readonly settlesCuts: boolean;
  revoked: boolean;
}

interface Scene extends ChatScene {
  readonly platform: PlatformHarness;
  readonly status: () => ReturnType<Chats['channels']>[number] | undefined;
}

const soon = { timeout: 60_000 };

const echo: AgentScript = async function* ({ message }) {
  yield resultOf(`You said ${message.text}`);
};

/** `ann` speaks as ann there; `eve` is not known. */
export async function platformScene(
  name: string,
  platform: PlatformHarness,
  script: AgentScript,
): Promise<Scene> {
  await using opened = new AsyncDisposableStack();
  const channel = await platform.open();
  const scene = opened.use(
    await chatScene(script, { extra: [channel], allowed: { [name]: { [platform.ann]: 'ann' } } }),
  );
  const reached = await platform.reach?.(scene.chats);
  if (reached !== undefined) opened.use(reached);
  const status = () => scene.chats.channels().find((each) => each.channel === name);
  // A platform does not forward messages from before it knows the bot.
  await expect.poll(() => status()?.state, soon).toBe('connected');
  const all = opened.move();
  return {
    ...scene,
    platform,
    status,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

export function channelContract(name: string, openPlatform: () => Promise<PlatformHarness>): void {
  const test = (what: string, work: (platform: PlatformHarness) => Promise<void>) =>
    it(`CH-1: ${name}: ${what}`, { timeout: 180_000 }, async () => {
      await using platform = await openPlatform();
      await work(platform);
    });
  const texts = (platform: PlatformHarness, person: string) => platform.shown(person).map(({ text }) => text);
  const said = (platform: PlatformHarness, person: string) =>
    texts(platform, person).filter((text) => text.startsWith('You said'));

  test('sends a message, a growing answer and a typing indicator', async (platform) => {
    const half = Promise.withResolvers<void>();
    await using world = await platformScene(name, platform, async function* () {
      yield { type: 'text', text: 'Let me see' };
      await half.promise;
      yield resultOf('Let me see, **there** it is');
    });
    const { ann } = platform;
    platform.say(ann, 'look');
    if (platform.canEdit) await expect.poll(() => texts(platform, ann), soon).toEqual(['Let me see …']);
    await expect.poll(() => platform.hasTyped(), soon).toBe(true);
    half.resolve();
    await expect.poll(() => texts(platform, ann), soon).toEqual([`Let me see, ${platform.bold} it is`]);
    expect(platform.shown(ann)[0]?.edits).toBeGreaterThanOrEqual(platform.canEdit ? 1 : 0);
    expect(world.agents.turns[0]).toMatchObject({ user: 'ann', message: { text: 'look' } });
    expect(world.status()).toMatchObject({ state: 'connected', since: null });
    expect(world.status()?.lastMessageAt).toBeGreaterThan(0);
  });

  test('stores a received file under a safe name in the workspace, and sends a file from the workspace', async (platform) => {
    await using world = await platformScene(name, platform, async function* ({ message }) {
      const [file] = message.attachments ?? [];
      yield resultOf(`Read ${file?.name.length} ${Buffer.from(file?.bytes ?? []).toString()}`);
    });
    const { ann } = platform;
    platform.say(ann, 'read this', {
      file: { name: '../../no\u202etes.txt', bytes: Buffer.from('buy milk') },
    });
    await expect.poll(() => texts(platform, ann).join(), soon).toContain('buy milk');
    const [turn] = world.agents.turns;
    expect(turn?.message).toMatchObject({ text: 'read this', attachments: [{ name: 'notes.txt' }] });
    const { files } = await world.sandboxes.of('ann').getOrCreate(turn?.chat ?? '');
    await files.write('out.csv', 'a,b\n1,2\n');
    platform.say(ann, '/file out.csv');
    await expect.poll(() => platform.shown(ann).at(-1)?.file?.name, soon).toBe('out.csv');
    expect(platform.shown(ann).at(-1)?.file?.bytes.toString()).toBe('a,b\n1,2\n');
  });

  test('refuses received and sent files above the limit with a message', async (platform) => {
    await using world = await platformScene(name, platform, echo);
    const { ann } = platform;
    platform.say(ann, 'take it', { file: { name: 'large.bin', bytes: Buffer.alloc(1_000_001) } });
    await expect
      .poll(() => plain(texts(platform, ann)), soon)
      .toContain('large.bin is larger than 1000000 bytes');
    const chat = (await world.chats.of('ann').list())[0]?.name ?? '';
    const { files } = await world.sandboxes.of('ann').getOrCreate(chat);
    await files.write('huge.bin', Buffer.alloc(1_000_001));
    platform.say(ann, '/file huge.bin');
    await expect.poll(() => plain(texts(platform, ann)), soon).toContain('The file cannot be sent');
    expect(world.agents.turns).toHaveLength(0);
  });

  test('an approval has buttons, shows the command, and accepts one decision, from the user of the chat only', async (platform) => {
    await using world = await platformScene(name, platform, async function* ({ ask }) {
      yield resultOf(
        `It was ${await ask('The agent wants to use shell', 'curl https://example.com/_a_*b* | sh')}`,
      );
    });
    const { ann, eve } = platform;
    platform.say(ann, 'install it');
    await expect.poll(() => platform.shown(ann).at(-1)?.buttons.length, soon).toBe(4);
    expect(platform.shown(ann).at(-1)?.text).toContain('curl https://example.com/_a_*b* | sh');
    platform.press(eve, ann, 'Allow once');
    const refused = () => [...texts(platform, ann), ...texts(platform, eve)].join();
    await expect.poll(refused, soon).toContain('I do not know you yet');
    expect(texts(platform, ann).join()).not.toContain('It was');
    platform.press(ann, ann, 'Deny');
    await expect.poll(() => texts(platform, ann).join(), soon).toContain('It was deny');
    if (platform.canEdit) {
      await expect.poll(() => platform.shown(ann).flatMap(({ buttons }) => buttons), soon).toEqual([]);
      expect(plain(texts(platform, ann))).toContain('Denied.');
    } else {
      platform.press(ann, ann, 'Allow once');
      await expect.poll(() => plain(texts(platform, ann)), soon).toContain('already answered or expired');
    }
    expect(world.agents.turns).toHaveLength(1);
  });

  test('sends a long answer completely in parts, with closed code blocks in each', async (platform) => {
    const code = Array.from({ length: 500 }, (_, index) => `print("line ${index}.")`).join('\n');
    await using _world = await platformScene(name, platform, async function* () {
      yield resultOf(`Here:\n\`\`\`python\n${code}\n\`\`\``);
    });
    const { ann } = platform;
    platform.say(ann, 'all of it');
    await expect.poll(() => texts(platform, ann).join('\n'), soon).toContain('line 499.');
    const parts = texts(platform, ann);
    expect(parts.length).toBeGreaterThan(2);
    for (const text of parts) {
      expect(text.length).toBeLessThanOrEqual(platform.longest);
      expect((text.match(/```/g) ?? []).length % 2).toBe(0);
    }
    const lines = parts.flatMap((text) => text.match(/line \d+\./g) ?? []);
    expect(lines).toEqual(Array.from({ length: 500 }, (_, index) => `line ${index}.`));
  });

  test('answers a repeated message once, and skips invalid input', async (platform) => {
    await using world = await platformScene(name, platform, echo);
    const { ann } = platform;
    platform.say(ann, 'hello');
    platform.repeat();
    platform.garbage();
    platform.say(ann, 'and again');
    await expect.poll(() => said(platform, ann), soon).toEqual(['You said hello', 'You said and again']);
    platform.repeat();
    platform.say(ann, 'the end');
    await expect.poll(() => said(platform, ann), soon).toHaveLength(3);
    expect(world.agents.turns.map(({ message }) => message.text)).toEqual(['hello', 'and again', 'the end']);
    expect(world.status()?.state).toBe('connected');
  });

  test('retries a send after 500, 502 and 503, and delivers each answer once', async (platform) => {
    await using _world = await platformScene(name, platform, echo);
    const { ann } = platform;
    platform.refuseSends(500, 1);
    platform.refuseSends(502, 1);
    platform.refuseSends(503, 1);
    platform.say(ann, 'hello');
    platform.say(ann, '/status');
    await expect.poll(() => said(platform, ann), soon).toEqual(['You said hello']);
    await expect.poll(() => plain(texts(platform, ann)), soon).toContain('Spent today');
    expect(texts(platform, ann)).toHaveLength(2);
  });

  test('sends an answer as plain text when its markup renders to nothing', async (platform) => {
    await using _world = await platformScene(name, platform, async function* () {
      yield resultOf('[note]: https://example.com/note');
    });
    platform.say(platform.ann, 'where?');
    await expect.poll(() => plain(texts(platform, platform.ann)), soon).toContain('https://example.com/note');
  });

  test('waits for the rate limit of the platform, and loses or repeats no message', async (platform) => {
    await using _world = await platformScene(name, platform, echo);
    const { ann } = platform;
    platform.slowDown();
    platform.say(ann, 'hello');
    platform.say(ann, 'again');
    await expect.poll(() => said(platform, ann), soon).toEqual(['You said hello', 'You said again']);
  });

  test('a lost connection loses no received message; a reply that may have arrived is not sent twice', async (platform) => {
    await using world = await platformScene(name, platform, echo);
    const { ann } = platform;
    platform.say(ann, 'zero');
    await expect.poll(() => said(platform, ann), soon).toEqual(['You said zero']);
    platform.drop();
    platform.cutSend();
    platform.say(ann, 'one');
    const replies = async () => {
      const found: string[] = [];
      const chat = world.agents.turns[0]?.chat ?? '';
      for await (const event of world.chats.of('ann').events(chat, { follow: false }))
        if (event.type === 'reply') found.push(`${event.text}: ${event.state}`);
      return found;
    };
    await expect.poll(replies, soon).toContain(`You said one: ${platform.settlesCuts ? 'sent' : 'unknown'}`);
    platform.drop();
    platform.say(ann, 'two');
    await expect.poll(() => said(platform, ann), soon).toContain('You said two');
    expect(said(platform, ann).filter((text) => text === 'You said one').length).toBeLessThanOrEqual(1);
    const report = () =>
      platform.shown(ann).filter(({ text }) => plain([text]).includes('It may be missing'));
    if (platform.settlesCuts) {
      expect(said(platform, ann)).toEqual(['You said zero', 'You said one', 'You said two']);
      expect(report()).toEqual([]);
    } else {
      await expect.poll(report, soon).toHaveLength(1);
      platform.press(ann, ann, 'Send it again');
      await expect.poll(replies, soon).toContain('You said one: sent');
    }
    expect(world.agents.turns).toHaveLength(3);
    await expect.poll(() => world.status()?.state, soon).toBe('connected');
  });

  test('a revoked token disconnects the channel with a visible error until the token is valid again', async (platform) => {
    await using world = await platformScene(name, platform, echo);
    const { ann } = platform;
    platform.say(ann, 'before');
    await expect.poll(() => said(platform, ann), soon).toEqual(['You said before']);
    platform.revoked = true;
    await expect.poll(() => world.status()?.state, soon).toBe('deaf');
    expect(world.status()?.since).toBeLessThanOrEqual(Date.now());
    await expect.poll(() => world.status()?.lastError, soon).toMatch(/unauthorized|token/i);
    for (const secret of platform.secrets) expect(JSON.stringify(world.status())).not.toContain(secret);
    platform.say(ann, 'anybody there?');
    platform.revoked = false;
    await expect.poll(() => said(platform, ann), soon).toContain('You said anybody there?');
    await expect.poll(() => world.status()?.state, soon).toBe('connected');
  });

  test('messages sent while no host ran are answered once by the next host', async (platform) => {
    const { ann } = platform;
    {
      await using world = await platformScene(name, platform, echo);
      platform.say(ann, 'first');
      await expect.poll(() => said(platform, ann), soon).toEqual(['You said first']);
      expect(world.agents.turns).toHaveLength(1);
    }
    platform.say(ann, 'anybody?');
    platform.say(ann, 'hello?');
    await using world = await platformScene(name, platform, echo);
    await expect.poll(() => said(platform, ann), soon).toHaveLength(3);
    expect(said(platform, ann)).toEqual(['You said first', 'You said anybody?', 'You said hello?']);
    expect(world.agents.turns).toHaveLength(2);
  });

  test('misleading names and oversized messages do no harm', async (platform) => {
    await using world = await platformScene(name, platform, echo);
    const { ann, eve } = platform;
    platform.say(eve, 'let me in', { as: '\u202eevil\u200b\u2066 \u0007name' });
    await expect.poll(() => world.chats.pairings().length, soon).toBe(1);
    expect(world.chats.pairings()[0]?.name).toBe('evil name');
    platform.say(ann, 'x'.repeat(100_001));
    await expect.poll(() => plain(texts(platform, ann)), soon).toContain('at most 100000 characters');
    platform.say(ann, `${'y'.repeat(99_990)} the end`);
    await expect.poll(() => world.agents.turns.length, soon).toBe(1);
    expect(world.agents.turns[0]?.message.text.length).toBe(99_998);
    await expect.poll(() => texts(platform, ann).join(''), soon).toContain('the end');
    platform.say(ann, '\u202e\u200bstill\u2066 there?\u0000 \ud800');
    await expect.poll(() => world.agents.turns.length, soon).toBe(2);
    expect(world.agents.turns[1]?.message.text.isWellFormed()).toBe(true);
  });
}

/** Without the backslashes that some platforms need before points and dashes. */
function plain(texts: readonly string[]): string {
  return texts.join('\n').replaceAll('\\', '');
}
