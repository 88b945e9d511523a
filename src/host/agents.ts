import { acpDriver } from '../agents/acp/acp.ts';
import { type BuiltinOptions, builtinDriver } from '../agents/builtin/builtin.ts';
import { claudeDriver } from '../agents/claude/claude.ts';
import { codexDriver } from '../agents/codex/codex.ts';
import type { AgentDriver } from '../agents/driver.ts';
import { openAgents } from '../agents/open-agents.ts';
import { CallTable } from '../agents/replay/call-table.ts';
import { openReplays } from '../agents/replay/open-replays.ts';
import type { AgentPlace } from '../agents/sandboxed/place.ts';
import { sandboxedDriver } from '../agents/sandboxed/sandboxed.ts';
import type { Cancel } from '../base/cancel.ts';
import type { Log } from '../base/log.ts';
import { knownPrices, type PriceTable } from '../base/prices.ts';
import { agentLimits } from '../config/sandbox-limits.ts';
import type { Config } from '../config/schema.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Agents } from '../seams/agent.ts';
import type { Approvals } from '../seams/approval.ts';
import type { UserSchedules } from '../seams/chat.ts';
import type { EventSink } from '../seams/events.ts';
import type { MemoryStore } from '../seams/memory.ts';
import type { Sandboxes } from '../seams/persistent.ts';
import type { Replays } from '../seams/replay.ts';
import type { Telemetry } from '../seams/telemetry.ts';
import type { ToolSessions } from '../seams/tools.ts';
import type { Geode } from './geode.ts';
import type { ConfiguredModels } from './models.ts';

interface AgentParts {
  readonly ledger: Ledger;
  readonly sandboxes: Sandboxes;
  readonly models: ConfiguredModels;
  readonly memory: MemoryStore;
  readonly approvals: Approvals;
  readonly events: EventSink;
  readonly log: Log;
  readonly app: Geode;
  readonly tools: ToolSessions;
  readonly telemetry: Telemetry | undefined;
  readonly place: (options: Cancel) => Promise<AgentPlace>;
  /** The schedules of a user's chats; available once the chats are open. */
  readonly schedules: (user: string) => UserSchedules | undefined;
}

/** The agents of the config. No model is called until a message arrives or a turn has to be resumed. */
export function openConfiguredAgents(
  config: Config,
  parts: AgentParts,
): { readonly agents: Agents; readonly replays: Replays } {
  const { agents, claude, codex, acp, providers } = config;
  const { ledger, sandboxes, approvals, events, log, tools, app } = parts;
  const prices = { ...knownPrices, ...providers.prices };
  const limits = agentLimits(config);
  const shared = {
    ...{ ledger, sandboxes, log },
    drivers: [
      ownDriver(config, parts, prices),
      claudeDriver({
        ...claude,
        idleMs: claude.idle * 1000,
        prices,
        tools,
        limits,
      }),
      codexDriver({ ...codex, prices, tools, limits }),
      ...Object.entries(acp.agents).map(([name, agent]) =>
        acpDriver({ ...agent, name, idleMs: acp.idle * 1000, beginMs: acp.begin * 1000, tools, limits }),
      ),
    ],
    turnTimeoutMs: agents.turn_timeout * 1000,
    calls: new CallTable(ledger, agents.keep_recordings ?? 0),
    tapes: app.egress.tapes,
    secrets: Object.values(providers.services).flatMap(({ api_key: key }) => key ?? []),
  };
  return {
    agents: openAgents({
      ...{ ...shared, approvals, events, telemetry: parts.telemetry },
      driver: agents.driver,
      allow: agents.allow,
      unattendedTimeoutMs: agents.unattended_timeout * 1000,
      keepEvents: agents.keep_events,
    }),
    replays: openReplays(shared),
  };
}

/** The loop of Geode's own agent: on this host, or in the sandbox of each chat. */
function ownDriver(
  { agents, providers, container_agent: sandboxed }: Config,
  { ledger, models, memory, app, place, schedules, tools }: AgentParts,
  prices: PriceTable,
): AgentDriver {
  const { model, steps, instructions, dangerous, permissions } = agents;
  const shared: BuiltinOptions = {
    ...{ ledger, models, memory, model, steps, instructions, dangerous, permissions },
    ...{ schedules, tools },
    historyTokens: agents.history_tokens,
    recallTokens: agents.recall_tokens,
    shellPolicy: app.shellPolicy,
  };
  if (!sandboxed.enabled) return builtinDriver(shared);
  return sandboxedDriver({
    ...{ ...shared, prices, place },
    services: () =>
      Object.fromEntries(
        Object.entries(models.providers.services).map(
          ([name, { kind, base_url: baseUrl }]) => [name, { kind, baseUrl }] as const,
        ),
      ),
    timeoutMs: sandboxed.timeout * 1000,
    answerTimeoutMs: providers.timeout * 1000,
    retries: providers.retries,
  });
}
