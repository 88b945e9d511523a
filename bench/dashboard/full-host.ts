/** A host on which much has happened, as a real gateway, and Chromium beside it. */
import { setTimeout as delay } from 'node:timers/promises';
import type { GeodeClient } from '../../src/client/client.ts';
import { type DashboardWorld, dashboardWorld } from '../../test/dashboard/world.ts';

export const sandboxCount = 200;
export const runningCount = 20;
export const journalLines = 100_000;
export const entryCount = 10_000;
export const chatMessages = 1_000;
/** The sandbox and the chat that are looked at. */
export const main = 'main';

const atOnce = 8;

export interface FullHost extends AsyncDisposable {
  readonly world: DashboardWorld;
  /** The process with the long journal. */
  readonly process: string;
}

export async function fullHost(signal: AbortSignal): Promise<FullHost> {
  await using opened = new AsyncDisposableStack();
  const world = opened.use(
    await dashboardWorld({
      GEODE_RUNTIME_NAME: 'bubblewrap',
      GEODE_SANDBOX_MOST: String(sandboxCount + 10),
      GEODE_SANDBOX_MOST_PER_USER: String(sandboxCount + 10),
      GEODE_RUNS_POOL_CEILING: '0',
      // Nothing here is about how much one key may ask for.
      GEODE_GATEWAY_RATE: '100000',
      GEODE_CHAT_MESSAGES_PER_MINUTE: '1000000',
    }),
  );
  const { client } = world;
  await remember(client, signal);
  await talk(client, signal);
  await inTurns(sandboxCount - 1, signal, async (at) => {
    const chat = `sandbox ${String(at).padStart(3, '0')}`;
    await client.sandboxes.getOrCreate(chat);
    if (at >= runningCount - 1) await client.sandboxes.stop(chat);
  });
  // The last one that was made is at the top of the list.
  await client.sandboxes.getOrCreate(main);
  const writer = await client.sandboxes
    .of(main)
    .spawn({ argv: ['seq', '-f', 'line %.0f of a journal', String(journalLines)] });
  for await (const { type } of writer) if (type === 'exit') break;
  const held = opened.move();
  return { world, process: writer.id, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

async function remember(client: GeodeClient, signal: AbortSignal): Promise<void> {
  const batch = 500;
  for (let from = 0; from < entryCount; from += batch) {
    signal.throwIfAborted();
    await client.bulk(
      Array.from({ length: batch }, (_, at) => ({
        id: `notes/${from + at}`,
        content: `Note ${from + at}: the release of week ${at} runs from branch ${from}.`,
        category: 'project',
        source: 'bench',
      })),
    );
  }
}

/** The gateway answers its own commands without a model: each message has a reply. */
async function talk(client: GeodeClient, signal: AbortSignal): Promise<void> {
  const words = `/model ${'a word and another, '.repeat(10)}`;
  await inTurns(chatMessages / 2, signal, () => client.chats.post(main, { text: words }));
  let heard = 0;
  for await (const event of client.chats.events(main, { signal })) {
    if ('seq' in event) heard += 1;
    if (heard >= chatMessages) break;
  }
}

/** Creates this many of a kind, a few at once. */
export async function inTurns(
  count: number,
  signal: AbortSignal,
  act: (at: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < count) {
      signal.throwIfAborted();
      next += 1;
      await act(next - 1);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

/** At an even pace, however long each takes; resolves when the last one is done. */
export async function everySecond(
  times: number,
  seconds: number,
  signal: AbortSignal,
  act: (at: number) => Promise<unknown>,
): Promise<void> {
  const began = performance.now();
  const acts: Promise<unknown>[] = [];
  for (let at = 0; at < times * seconds; at += 1) {
    const due = began + (at * 1000) / times;
    await delay(Math.max(0, due - performance.now()), undefined, { signal });
    acts.push(act(at));
  }
  await Promise.all(acts);
}
