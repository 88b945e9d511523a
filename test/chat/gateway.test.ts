import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { namedHost } from '../../src/ledger/named-host.ts';
import { geodeProgram } from '../cli/sandbox-home.ts';
import { eventually } from '../contracts/harness.ts';
import { type ModelCall, type Script, startModelServer } from '../fixtures/model-server/model-server.ts';
import { startTelegram, type TelegramServer, telegramToken } from '../fixtures/telegram-server.ts';
import { type HostWorld, hostWorld } from '../host/world.ts';

const patience = { timeout: 600_000 };

interface GatewayWorld extends AsyncDisposable {
  readonly telegram: TelegramServer;
  readonly world: HostWorld;
  /** Starts `geode gateway`, or starts it again after it was killed. */
  start(): Promise<ChildProcessWithoutNullStreams>;
  geode(args: readonly string[], input?: string): Promise<{ code: number; stdout: string; stderr: string }>;
  /** Lines for a shell in which `geode` is this one. */
  shell(lines: string): Promise<{ code: number; stdout: string; stderr: string }>;
  client(): GeodeClient;
  /** What the gateway logged. */
  readonly log: string[];
}

/** A gateway in a process of its own, with the real agent, a scripted model and a Telegram of our own. */
async function gatewayWorld(
  script: Script,
  allow: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>> = {},
): Promise<GatewayWorld> {
  await using opened = new AsyncDisposableStack();
  const telegram = opened.use(await startTelegram());
  const model = opened.use(await startModelServer(script));
  const world = opened.use(
    hostWorld({
      GEODE_PROVIDERS_SERVICES: JSON.stringify({
        scripted: { kind: 'anthropic', base_url: `${model.url}/v1`, api_key: 'the-key-of-the-provider' },
      }),
      GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
      GEODE_CHANNELS_TELEGRAM: JSON.stringify({ api_url: telegram.url, allow }),
      ...more,
    }),
  );
  const log: string[] = [];
  const run = (args: readonly string[]) =>
    spawn(process.execPath, [geodeProgram, ...args], { env: world.env });
  const outcome = async (child: ChildProcessWithoutNullStreams, input: string) => {
    child.stdin.end(input);
    const exit = once(child, 'close');
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
    return { code, stdout, stderr };
  };
  const geode: GatewayWorld['geode'] = (args, input = '') => outcome(run(args), input);
  const shell: GatewayWorld['shell'] = (lines) => {
    const program = `geode() { '${process.execPath}' '${geodeProgram}' "$@"; }`;
    return outcome(spawn('sh', ['-euc', `${program}\n${lines}`], { env: world.env }), '');
  };
  const set = await geode(['secrets', 'set', 'telegram'], telegramToken);
  if (set.code !== 0) throw new Error(set.stderr);
  const all = opened.move();
  return {
    telegram,
    world,
    log,
    geode,
    shell,
    async start() {
      const child = run(['gateway', '--port', '0', '--json']);
      all.defer(() => ended(child, 'SIGTERM'));
      child.stderr.setEncoding('utf8').on('data', (piece: string) => log.push(piece));
      for await (const line of createInterface({ input: child.stdout }))
        if (line.startsWith('{')) return child;
      throw new Error(`the gateway said nothing: ${log.join('')}`);
    },
    client: () => createClient(unixTransport(namedHost(world.machine.stateDir)?.serves?.api ?? '')),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function ended(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const over = once(child, 'exit');
  child.kill(signal);
  const late = setTimeout(() => child.kill('SIGKILL'), 30_000);
  await over;
  clearTimeout(late);
}

/** What the person said last, as the model reads it. */
function lastSaid({ body }: ModelCall): string {
  const { messages = [] } = body as { messages?: { role: string; content: unknown }[] };
  const own = messages.findLast(({ role }) => role === 'user')?.content;
  if (typeof own === 'string') return own;
  const parts = Array.isArray(own) ? own : [];
  return parts.map((part: { text?: string }) => part.text ?? '').join('');
}

/** The first lines for a shell in a document. */
function exampleOf(file: string): string {
  const document = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  const [, lines] = /```sh\n([\s\S]*?)```/.exec(document) ?? [];
  if (lines === undefined) throw new Error(`${file} has no example`);
  return lines;
}

const ann = 42;

it(
  'GW-1: people on telegram, the terminal and the API talk to the built-in agent, each chat in its own sandbox',
  patience,
  async () => {
    await using scene = await gatewayWorld(
      (call) => {
        const said = lastSaid(call);
        if (said.includes('write')) {
          const input = { command: 'echo "made in the sandbox" > made.txt' };
          return { text: 'I write it.', calls: [{ tool: 'shell', input }] };
        }
        return { text: said.includes('hello') ? 'Hello to you.' : 'It is written.' };
      },
      { [ann]: 'ann' },
    );
    const { telegram, geode } = scene;
    await scene.start();
    telegram.write(ann, 'write a file');
    await expect.poll(() => telegram.shown(ann).at(-1), { timeout: 120_000 }).toMatch(/^It is written/);
    telegram.write(ann, '/file made.txt');
    await expect
      .poll(() => telegram.messages.at(-1)?.file?.bytes.toString(), { timeout: 60_000 })
      .toBe('made in the sandbox\n');

    // The example of docs/gateway.md, as it stands.
    const example = await scene.shell(exampleOf('docs/gateway.md'));
    expect(example).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Hello to you\.\n/) });
    expect(example.stdout).toContain('Spent today: $0.00 of no limit');
    expect(example.stdout).toMatch(/plans +web/);
    expect(example.stdout).toMatch(/telegram +connected/);

    telegram.write(7, 'let me in');
    await expect.poll(() => telegram.shown(7).join(), { timeout: 60_000 }).toContain('I do not know you yet');
    const waiting = JSON.parse((await geode(['chat', 'pair', '--json'])).stdout);
    const paired = await geode(['chat', 'pair', waiting.pairings[0].code, '--as', 'eve']);
    expect(paired.stdout).toBe('Person 7 on telegram speaks as eve from now on.\n');
    telegram.write(7, 'hello');
    await expect.poll(() => telegram.shown(7), { timeout: 60_000 }).toContain('Hello to you\\.');
    expect((await geode(['chat', 'unpair'])).stdout).toContain('as eve, by socket');

    expect((await scene.client().chats.list()).map(({ name }) => name)).toEqual(['plans']);
    expect((await scene.client().as('ann').chats.list()).map(({ name }) => name)).toEqual([
      `telegram:${ann}`,
    ]);
    expect(scene.log.join('')).not.toContain(telegramToken);
  },
);

/** The long form, for a night: GEODE_TEST_CHAT_MESSAGES=10000 GEODE_TEST_CHAT_KILLS=100. */
const messageCount = Number(process.env.GEODE_TEST_CHAT_MESSAGES ?? 120);
const killCount = Number(process.env.GEODE_TEST_CHAT_KILLS ?? 3);
const chatCount = 12;

it(
  'GW-1: with the gateway killed again and again, every message is answered once, in order, in its own chat',
  patience,
  async () => {
    const people = Array.from({ length: chatCount }, (_, index) => 1000 + index);
    await using scene = await gatewayWorld(
      (call) => ({ text: `Answer to ${lastSaid(call).trim()}` }),
      Object.fromEntries(people.map((id) => [String(id), `user-${id}`])),
      { GEODE_CHAT_MESSAGES_PER_MINUTE: '100000' },
    );
    const { telegram } = scene;
    const asked = new Map<number, string[]>(people.map((id) => [id, []]));
    for (let step = 0; step < messageCount; step += 1) {
      const person = people[step % chatCount] ?? 0;
      // A secret of the chat in each message: none may be seen in another chat.
      const said = `question ${step} of person${person}`;
      asked.get(person)?.push(said);
      telegram.write(person, said);
    }
    const answered = () => telegram.messages.filter(({ text }) => text.startsWith('Answer to')).length;
    let gateway = await scene.start();
    for (let kill = 1; kill <= killCount; kill += 1) {
      const enough = Math.floor((messageCount * kill) / (killCount + 1));
      await eventually(async () => answered() >= enough, `${enough} answers`, 300_000);
      await ended(gateway, 'SIGKILL');
      gateway = await scene.start();
    }
    let unknown = 0;
    for (const [person, questions] of asked) {
      const own = scene.client().as(`user-${person}`).chats;
      let replies: { text: string; state: string }[] = [];
      await eventually(
        async () => {
          replies = [];
          for await (const event of own.events(`telegram:${person}`, { follow: false }))
            if (event.type === 'reply' && event.answers !== null) replies.push(event);
          const settled = replies.filter(({ state }) => state === 'sent' || state === 'unknown');
          return settled.length >= questions.length;
        },
        `the answers to person ${person}`,
        300_000,
      );
      expect(replies.map(({ text: said }) => said)).toEqual(questions.map((said) => `Answer to ${said}`));
      const shown = telegram.shown(person);
      for (const [index, said] of questions.entries()) {
        const times = shown.filter((each) => each === `Answer to ${said}`).length;
        if (replies[index]?.state === 'unknown') {
          unknown += 1;
          expect(times).toBeLessThanOrEqual(1);
        } else expect(times).toBeGreaterThanOrEqual(1);
      }
      expect(shown.filter((each) => each.includes('person') && !each.includes(`person${person}`))).toEqual(
        [],
      );
      const order = shown.filter((each) => each.startsWith('Answer to'));
      expect(order.toSorted((a, b) => stepOf(a) - stepOf(b))).toEqual(order);
    }
    // Only what was being sent in the moment of a kill can be unknown, or stand there twice as a draft and an answer.
    expect(unknown).toBeLessThanOrEqual(killCount * 8);
    expect(answered()).toBeLessThanOrEqual(messageCount + killCount * 4);
  },
);

function stepOf(answer: string): number {
  return Number(/question (\d+)/.exec(answer)?.[1]);
}
