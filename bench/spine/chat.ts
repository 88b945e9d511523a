import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { loadConfig } from '../../src/config/load.ts';
import { agentPlace } from '../../src/host/agent-place.ts';
import { openHost } from '../../src/host/open-host.ts';
import type { ChatEvent } from '../../src/seams/chat.ts';
import { type GatewayWorld, gatewayWorld, lastSaid } from '../../test/chat/gateway-world.ts';
import { dockerSettings } from '../../test/fixtures/docker-settings.ts';
import { type Reply, startModelServer } from '../../test/fixtures/model-server/model-server.ts';
import { hostWorld } from '../../test/host/world.ts';
import { compare, contender, millisecondsOf, observed } from '../measure.ts';
import { atMost, type Bench, type Findings, type Section, together } from '../section.ts';
import { whyNot } from './place.ts';

const people = 50;
const firstPerson = 1_000;
const service = (url: string) => ({
  GEODE_PROVIDERS_SERVICES: JSON.stringify({
    scripted: { kind: 'anthropic', base_url: `${url}/v1`, api_key: 'the-key-of-the-provider' },
  }),
  GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
});

export const chatSection: Section = {
  name: 'chat',
  title: 'A message in a chat and its answer, with a model that answers at once',
  async run(bench) {
    const parts = [await throughGateway(bench)];
    for (const name of ['docker', 'bubblewrap'] as const) {
      const missing = whyNot(bench, name);
      parts.push(
        missing === undefined
          ? await insideSandbox(bench, name)
          : { comparisons: [], targets: [], leftOut: [missing] },
      );
    }
    return together(...parts);
  },
};

/** `geode gateway` in a process of its own, with its sandboxes; people and the model are in this one. */
async function throughGateway(bench: Bench): Promise<Findings> {
  const everyone = Array.from({ length: people }, (_, index) => firstPerson + index);
  await using scene = await gatewayWorld(
    answer,
    Object.fromEntries(everyone.map((id) => [String(id), `user-${id}`])),
    {
      GEODE_RUNTIME_NAME: whyNot(bench, 'bubblewrap') === undefined ? 'bubblewrap' : 'native',
      GEODE_CHAT_MESSAGES_PER_MINUTE: '1000000',
      GEODE_SANDBOX_MOST: String(people + 10),
    },
  );
  await scene.start();
  const alone = await oneByOne(bench, scene);
  const growing = await firstWords(bench, scene);
  return together(alone, growing, await allAtOnce(bench, scene, everyone));
}

/** The model answers at once with the words that it heard; a long answer is written slowly. */
function answer(call: Parameters<typeof lastSaid>[0]): Reply {
  const said = lastSaid(call).trim();
  return said.startsWith('slowly')
    ? { text: `Answer to ${said} ${'and so on '.repeat(40)} done`, everyMs: 100 }
    : { text: `Answer to ${said}` };
}

async function oneByOne(bench: Bench, scene: GatewayWorld): Promise<Findings> {
  await using web = await webChat(scene, 'bench');
  const { agents } = scene.client();
  const asked = async () => {
    for await (const _ of agents.send('alone', { text: 'hello' }));
  };
  const [wholes, alones]: [number[], number[]] = [[], []];
  const timed = (samples: number[], work: () => Promise<void>) => async () => {
    const ms = await millisecondsOf(work);
    samples.push(ms);
    return ms;
  };
  const hello = () => web.ask('hello');
  const single = await compare(
    {
      name: 'a message and its answer, through the API',
      unit: 'ms',
      rounds: bench.rounds(200),
      ours: contender('Geode', timed(wholes, hello), hello),
      others: [contender('the agent asked without a chat', timed(alones, asked), asked)],
    },
    bench.signal,
  );
  const overheads = wholes.map((whole, round) => Math.max(0, whole - (alones[round] ?? 0)));
  const overhead = observed('the same, without the time of the agent', 'ms', 'Geode', overheads);
  const platform: number[] = [];
  await askOnTelegram(scene, firstPerson, 'warm up');
  for (let round = 0; round < bench.rounds(100); round += 1) {
    bench.signal.throwIfAborted();
    platform.push(await millisecondsOf(() => askOnTelegram(scene, firstPerson, `round ${round}`)));
  }
  return {
    comparisons: [
      single,
      overhead,
      observed('from a message on Telegram to the answer there', 'ms', 'Geode', platform),
    ],
    targets: [atMost('overhead of the gateway for a message', 15, 'ms', overhead.ours.p50)],
    leftOut: [],
  };
}

/** An answer that grows. Telegram is sent nothing before its usual pause between edits is over. */
async function firstWords(bench: Bench, scene: GatewayWorld): Promise<Findings> {
  await using web = await webChat(scene, 'slow');
  await web.ask('hello');
  const heard: number[] = [];
  const seen: number[] = [];
  for (let round = 0; round < bench.rounds(8); round += 1) {
    bench.signal.throwIfAborted();
    const began = performance.now();
    const first = web.firstText();
    const whole = web.ask(`slowly ${round}`);
    await first;
    heard.push(performance.now() - began);
    await whole;
    const { messages } = scene.telegram;
    const before = messages.length;
    scene.telegram.write(firstPerson, `slowly ${round}`);
    seen.push(await millisecondsOf(() => until(() => messages.length > before)));
    await until(() => messages.at(-1)?.text.endsWith('done') === true);
  }
  return {
    comparisons: [
      observed('from a message to the first words of its answer, through the API', 'ms', 'Geode', heard),
      observed('from a message to the first words of its answer, on Telegram', 'ms', 'Geode', seen),
    ],
    targets: [],
    leftOut: [],
  };
}

/** Everybody writes in the same moment, again and again. */
async function allAtOnce(bench: Bench, scene: GatewayWorld, everyone: readonly number[]): Promise<Findings> {
  const wave = (words: string) =>
    Promise.all(everyone.map((person) => millisecondsOf(() => askOnTelegram(scene, person, words))));
  await wave('warm up');
  const waits: number[] = [];
  const rates: number[] = [];
  for (let round = 0; round < bench.rounds(6); round += 1) {
    bench.signal.throwIfAborted();
    const took = await wave(`wave ${round}`);
    waits.push(...took);
    rates.push((everyone.length / Math.max(...took)) * 1_000);
  }
  return {
    comparisons: [
      observed(`answers to ${people} chats at once, on Telegram`, 'messages/s', 'Geode', rates),
      observed(`an answer in one of ${people} chats at once, on Telegram`, 'ms', 'Geode', waits),
    ],
    targets: [],
    leftOut: [],
  };
}

/** The first message of a new chat, until the agent in a sandbox that was ready asks its model. */
async function insideSandbox(bench: Bench, name: 'docker' | 'bubblewrap'): Promise<Findings> {
  let asked = () => {};
  await using model = await startModelServer(() => {
    asked();
    return { text: 'Here.' };
  });
  await using world = hostWorld({
    ...(name === 'docker' ? dockerSettings(bench.engines.docker) : { GEODE_RUNTIME_NAME: name }),
    GEODE_CONTAINER_AGENT_ENABLED: 'true',
    ...service(model.url),
  });
  const loaded = await loadConfig(world.machine);
  const warn = (line: string) => world.warnings.push(line);
  await using host = await openHost({ loaded, machine: world.machine, version: 'bench', tends: 'all', warn });
  const { spec } = await agentPlace(loaded.config, host.app)({});
  const chats = host.parts.chats?.of('bench');
  if (chats === undefined) throw new Error('The host has no chats');
  const ready: number[] = [];
  for (let round = 0; round < bench.rounds(20) + 1; round += 1) {
    bench.signal.throwIfAborted();
    const chat = randomBytes(6).toString('hex');
    await host.sandboxes.warm(1, spec);
    const reached = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const ms = await millisecondsOf(async () => {
      await chats.post(chat, { text: 'hello' });
      await reached;
    });
    // The first one also loads what every later one finds there.
    if (round > 0) ready.push(ms);
    for await (const event of chats.events(chat, { signal: bench.signal }))
      if (event.type === 'reply' && event.isLast) break;
    await host.sandboxes.of('bench').remove(chat);
  }
  const first = observed(
    `from the first message of a chat to its agent at work inside ${name}`,
    'ms',
    'Geode',
    ready,
  );
  return {
    comparisons: [first],
    targets: [atMost(`first message to agent at work (${name})`, 300, 'ms', first.ours.p50)],
    leftOut: [],
  };
}

interface WebChat extends AsyncDisposable {
  /** Resolves when the answer is stored and told. */
  ask(text: string): Promise<void>;
  /** Resolves with the next piece of an answer. */
  firstText(): Promise<void>;
}

async function webChat(scene: GatewayWorld, name: string): Promise<WebChat> {
  const { chats } = scene.client();
  const over = new AbortController();
  const waiting = new Set<(event: ChatEvent) => boolean>();
  const next = (isIt: (event: ChatEvent) => boolean) =>
    new Promise<void>((resolve) => {
      waiting.add((event) => {
        if (isIt(event)) resolve();
        return isIt(event);
      });
    });
  const reading = (async () => {
    for await (const event of chats.events(name, { signal: over.signal }))
      for (const each of waiting) if (each(event)) waiting.delete(each);
  })().catch((error) => {
    if (!over.signal.aborted) throw error;
  });
  return {
    async ask(text) {
      // One at a time: the next last reply is the answer.
      const answered = next((event) => event.type === 'reply' && event.isLast);
      await chats.post(name, { text });
      await answered;
    },
    firstText: () => next(({ type }) => type === 'text-delta'),
    async [Symbol.asyncDispose]() {
      over.abort();
      await reading;
    },
  };
}

async function askOnTelegram({ telegram }: GatewayWorld, person: number, words: string): Promise<void> {
  let seen = telegram.messages.length;
  telegram.write(person, words);
  await until(() => {
    for (; seen < telegram.messages.length; seen += 1) {
      const message = telegram.messages[seen];
      if (message?.chat === person && message.text.startsWith('Answer to')) return true;
    }
    return false;
  });
}

const lookEveryMs = 1;

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(lookEveryMs);
}
