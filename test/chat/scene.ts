import { join } from 'node:path';
import { approvalChapter } from '../../src/approvals/approval-table.ts';
import { openApprovals } from '../../src/approvals/open-approvals.ts';
import { noLog } from '../../src/base/log.ts';
import { type OpenChatsOptions, openChats } from '../../src/chat/open-chats.ts';
import { EventLog, eventChapter } from '../../src/ledger/event-log.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import type { Channel } from '../../src/seams/channel.ts';
import type { Chats } from '../../src/seams/chat.ts';
import type { Sandboxes } from '../../src/seams/persistent.ts';
import {
  type AgentScript,
  type ScriptedAgents,
  type ScriptedTurn,
  scriptedAgents,
} from '../fixtures/scripted-agents.ts';
import { type TestChannel, testChannel } from '../fixtures/test-channel.ts';
import { sandboxWorld } from '../sandboxes/world.ts';

export interface ChatScene extends AsyncDisposable {
  readonly chats: Chats;
  readonly channel: TestChannel;
  readonly agents: ScriptedAgents;
  readonly sandboxes: Sandboxes;
  readonly stateDir: string;
}

/**
 * The decision of a question that nobody answers in time. The question must be in the chat before it expires, for which a
 * machine under load may need longer: then it is asked again, with more time.
 */
export async function expired(ask: ScriptedTurn['ask'], isShown: () => boolean) {
  for (let waitMs = 200; ; waitMs *= 4) {
    const decision = await ask('The agent wants to use shell', 'rm -r build', waitMs);
    if (isShown()) return decision;
  }
}

/** Chats with agents that a test scripts, in sandboxes without walls. `ann` and `bob` are paired. */
export async function chatScene(
  script: AgentScript,
  more: Partial<OpenChatsOptions> & { readonly extra?: readonly Channel[] } = {},
): Promise<ChatScene> {
  await using opened = new AsyncDisposableStack();
  const world = opened.use(await sandboxWorld('native', {}));
  const sandboxes = await world.host({});
  const { stateDir } = world.options;
  const ledger = opened.use(new Ledger(join(stateDir, 'ledger.db'), [eventChapter, approvalChapter]));
  const events = new EventLog(ledger);
  const approvals = opened.use(openApprovals({ ledger, events, log: noLog }));
  const agents = scriptedAgents(script, approvals);
  const channel = testChannel();
  const chats = opened.use(
    await openChats({
      stateDir,
      agents,
      sandboxes,
      approvals,
      events,
      log: noLog,
      channels: [channel, ...(more.extra ?? [])],
      allowed: { test: { ann: 'ann', bob: 'bob' } },
      pairingMs: 60_000,
      concurrency: 2,
      mostPerUser: 2,
      messagesPerMinute: 100,
      mostFileBytes: 1_000_000,
      timeZone: 'UTC',
      duringTurn: 'follow',
      dailyBudget: { usd: null, tokens: null },
      ...more,
    }),
  );
  const all = opened.move();
  return { chats, channel, agents, sandboxes, stateDir, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
