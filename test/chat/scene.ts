import { type OpenChatsOptions, openChats } from '../../src/chat/open-chats.ts';
import type { Channel } from '../../src/core/channel.ts';
import type { Chats } from '../../src/core/chat.ts';
import { noEvents } from '../../src/core/events.ts';
import { noLog } from '../../src/core/log.ts';
import type { Sandboxes } from '../../src/core/persistent.ts';
import { type AgentScript, type ScriptedAgents, scriptedAgents } from '../fixtures/scripted-agents.ts';
import { type TestChannel, testChannel } from '../fixtures/test-channel.ts';
import { sandboxWorld } from '../sandboxes/world.ts';

export interface ChatScene extends AsyncDisposable {
  readonly chats: Chats;
  readonly channel: TestChannel;
  readonly agents: ScriptedAgents;
  readonly sandboxes: Sandboxes;
  readonly stateDir: string;
}

/** Chats with agents that a test scripts, in sandboxes without walls. `ann` and `bob` are let in. */
export async function chatScene(
  script: AgentScript,
  more: Partial<OpenChatsOptions> & { readonly extra?: readonly Channel[] } = {},
): Promise<ChatScene> {
  await using opened = new AsyncDisposableStack();
  const world = opened.use(await sandboxWorld('native', {}));
  const sandboxes = await world.host({});
  const agents = scriptedAgents(script);
  const channel = testChannel();
  const { stateDir } = world.options;
  const chats = opened.use(
    await openChats({
      stateDir,
      agents,
      sandboxes,
      events: noEvents,
      log: noLog,
      channels: [channel, ...(more.extra ?? [])],
      allowed: { test: { ann: 'ann', bob: 'bob' } },
      pairingMs: 60_000,
      concurrency: 2,
      mostPerUser: 2,
      messagesPerMinute: 100,
      mostFileBytes: 1_000_000,
      dailyBudget: null,
      ...more,
    }),
  );
  const all = opened.move();
  return { chats, channel, agents, sandboxes, stateDir, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
