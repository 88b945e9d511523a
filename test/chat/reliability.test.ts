import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { eventually } from '../contracts/harness.ts';
import { generator } from '../fixtures/random.ts';
import type { TelegramServer } from '../fixtures/telegram-server.ts';
import { ended, type GatewayWorld, gatewayWorld, lastSaid } from './gateway-world.ts';

/** The long form: GEODE_TEST_CHAT_MESSAGES=10000 GEODE_TEST_CHAT_CHATS=200 GEODE_TEST_CHAT_KILLS=100. */
const messageCount = Number(process.env.GEODE_TEST_CHAT_MESSAGES ?? 48);
const chatCount = Number(process.env.GEODE_TEST_CHAT_CHATS ?? 6);
const killCount = Number(process.env.GEODE_TEST_CHAT_KILLS ?? 3);
const longest = 4 * 3_600_000;

it('GW-1: with the gateway killed again and again, sockets cut and 429s, every message is answered once, in order, in its own chat', {
  timeout: longest,
}, async () => {
  const people = Array.from({ length: chatCount }, (_, index) => 1000 + index);
  // The secret of each chat is in all that is said there, so that it would show anywhere else.
  await using scene = await gatewayWorld(
    (call) => ({ text: `Answer to ${lastSaid(call).trim()}` }),
    Object.fromEntries(people.map((id) => [String(id), `user-${id}`])),
    {
      GEODE_CHAT_MESSAGES_PER_MINUTE: '1000000',
      GEODE_SANDBOX_MOST: String(chatCount + 10),
      GEODE_CHAT_CONCURRENCY: '4',
    },
  );
  const { telegram } = scene;
  const started = Date.now();
  const asked = askAll(telegram, people);
  const { unknown, refused, cuts, memory } = await disturb(scene, people, asked);
  expect(unknown).toBeLessThanOrEqual(killCount * 8 + cuts);
  const answers = telegram.messages.filter(({ text }) => text.startsWith('Answer to')).length;
  // What was being sent in the moment of a kill can stand there twice, as a draft and as an answer.
  expect(answers).toBeLessThanOrEqual(messageCount + killCount * 4);
  console.log(
    `chats: ${messageCount} messages, ${chatCount} chats, ${killCount} kills, ${cuts} cut sockets, ${refused} refusals with 429: ` +
      `${answers} answers seen, ${unknown} of unknown outcome, ${Math.round((Date.now() - started) / 1000)} s, ` +
      `gateway ${memory.first} MiB at first and ${memory.last} MiB at last`,
  );
});

function askAll(telegram: TelegramServer, people: readonly number[]): Map<number, string[]> {
  const asked = new Map<number, string[]>(people.map((id) => [id, []]));
  for (let step = 0; step < messageCount; step += 1) {
    const person = people[step % people.length] ?? 0;
    const said = `question ${step} of person${person} with secret${person * 7919}`;
    asked.get(person)?.push(said);
    telegram.write(person, said);
  }
  return asked;
}

/** Kills, cuts and refuses while the messages are answered; then looks at every chat. */
async function disturb(
  scene: GatewayWorld,
  people: readonly number[],
  asked: ReadonlyMap<number, readonly string[]>,
) {
  const { telegram } = scene;
  const random = generator(11);
  const answered = () => telegram.messages.filter(({ text }) => text.startsWith('Answer to')).length;
  let cuts = 0;
  let refused = 0;
  let gateway = await scene.start();
  let first = 0;
  for (let kill = 1; kill <= killCount; kill += 1) {
    const fate = random();
    if (fate < 0.3) {
      telegram.fail('sendMessage', fate < 0.15 ? 'cut-before' : 'cut-after');
      cuts += 1;
    } else if (fate < 0.7) {
      const parameters = { retry_after: 1 };
      const body = { ok: false, error_code: 429, description: 'Too Many Requests', parameters };
      telegram.fail('sendMessage', { status: 429, body });
      refused += 1;
    } else telegram.fail('getUpdates', 'cut-before');
    const enough = Math.floor((messageCount * kill) / (killCount + 1)) - cuts;
    await eventually(async () => answered() >= enough, `${enough} answers`, 900_000);
    if (kill === 1) first = memoryOf(gateway.pid);
    await ended(gateway, 'SIGKILL');
    gateway = await scene.start();
  }
  let unknown = 0;
  for (const person of people) unknown += await checkChat(scene, person, asked.get(person) ?? []);
  return { unknown, refused, cuts, memory: { first, last: memoryOf(gateway.pid) } };
}

/** Gives how many answers may or may not have arrived. */
async function checkChat(scene: GatewayWorld, person: number, questions: readonly string[]): Promise<number> {
  const { telegram } = scene;
  let replies: { text: string; state: string }[] = [];
  await eventually(
    async () => {
      replies = [];
      const own = scene.client().as(`user-${person}`).chats;
      for await (const event of own.events(`telegram:${person}`, { follow: false }))
        if (event.type === 'reply' && event.answers !== null) replies.push(event);
      const settled = replies.filter(({ state }) => state === 'sent' || state === 'unknown');
      return settled.length >= questions.length;
    },
    `the answers to person ${person}`,
    900_000,
  );
  expect(replies).toHaveLength(questions.length);
  const shown = telegram.shown(person);
  let unknown = 0;
  for (const [index, said] of questions.entries()) {
    const reply = replies[index];
    // On a machine that is too busy to open a sandbox, the answer is that it is.
    if (reply === undefined || tooBusy.test(reply.text)) continue;
    expect(reply.text).toBe(`Answer to ${said}`);
    const times = shown.filter((each) => each === reply.text).length;
    if (reply.state === 'unknown') {
      unknown += 1;
      expect(times).toBeLessThanOrEqual(1);
    } else expect(times).toBeGreaterThanOrEqual(1);
  }
  const foreign = shown.filter((each) => /secret\d/.test(each) && !each.includes(`secret${person * 7919}`));
  expect(foreign).toEqual([]);
  const order = shown.filter((each) => each.startsWith('Answer to'));
  expect(order.toSorted((a, b) => stepOf(a) - stepOf(b))).toEqual(order);
  return unknown;
}

const tooBusy = /^That did not work: .*did not finish within \d+ ms/s;

function stepOf(answer: string): number {
  return Number(/question (\d+)/.exec(answer)?.[1]);
}

/** Resident, in MiB. */
function memoryOf(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}
