import { acpDriver } from '../agents/acp/acp.ts';
import { builtinDriver } from '../agents/builtin/builtin.ts';
import { claudeDriver } from '../agents/claude/claude.ts';
import { codexDriver } from '../agents/codex/codex.ts';
import { openAgents } from '../agents/open-agents.ts';
import type { App } from '../app.ts';
import type { Config } from '../config/schema.ts';
import type { Agents } from '../core/agent.ts';
import type { Approvals } from '../core/approval.ts';
import type { EventSink } from '../core/events.ts';
import type { Log } from '../core/log.ts';
import type { MemoryStore } from '../core/memory.ts';
import type { Models } from '../core/model.ts';
import type { Sandboxes } from '../core/persistent.ts';
import { knownPrices } from '../core/prices.ts';
import type { ToolSessions } from '../core/tools.ts';
import type { Ledger } from '../ledger/ledger.ts';

interface AgentParts {
  readonly ledger: Ledger;
  readonly sandboxes: Sandboxes;
  readonly models: Models;
  readonly memory: MemoryStore;
  readonly approvals: Approvals;
  readonly events: EventSink;
  readonly log: Log;
  readonly app: App;
  readonly tools: ToolSessions;
}

/** The agents of the config. Nothing is asked of a model until a message comes, or a turn is to be resumed. */
export function openConfiguredAgents(
  { agents, claude, codex, acp, providers }: Config,
  parts: AgentParts,
): Agents {
  const { ledger, sandboxes, models, memory, approvals, events, log, app, tools } = parts;
  const { model, steps, instructions } = agents;
  const prices = { ...knownPrices, ...providers.prices };
  return openAgents({
    ...{ ledger, sandboxes, approvals, events, log },
    drivers: [
      builtinDriver({
        ...{ ledger, models, memory, model, steps, instructions },
        shellPolicy: app.shellPolicy,
      }),
      claudeDriver({
        ...claude,
        idleMs: claude.idle * 1000,
        prices,
        tools,
      }),
      codexDriver({ ...codex, prices, tools }),
      ...Object.entries(acp.agents).map(([name, agent]) =>
        acpDriver({ ...agent, name, idleMs: acp.idle * 1000, tools }),
      ),
    ],
    driver: agents.driver,
    allow: agents.allow,
    turnTimeoutMs: agents.turn_timeout * 1000,
    keepEvents: agents.keep_events,
    secrets: Object.values(providers.services).flatMap(({ api_key: key }) => key ?? []),
  });
}
