import { fileURLToPath } from 'node:url';
import { type AgentPlace, checkPlace } from '../agents/sandboxed/place.ts';
import type { Cancel } from '../base/cancel.ts';
import { reasonOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Config } from '../config/schema.ts';
import type { Sandboxes } from '../seams/persistent.ts';
import type { Geode } from './geode.ts';

/** Where agents inside sandboxes run. Checked once; after a failure the next caller checks again. */
export function agentPlace(
  { container_agent: agent }: Config,
  app: Geode,
): (options: Cancel) => Promise<AgentPlace> {
  let checked: Promise<AgentPlace> | undefined;
  return async ({ signal } = {}) => {
    checked ??= checkPlace(
      {
        bundle: agentBundle,
        program: agent.program,
        image: agent.image,
        memoryBytes: agent.memory,
        cpus: agent.cpus,
        network: agent.network,
        mounts: agent.mounts,
        runtime: () => app.runtime(),
        open: (spec, runtime, cancel) =>
          app.open(spec, { runtime: runtime.name, ...(cancel.signal && { signal: cancel.signal }) }),
      },
      { signal },
    );
    try {
      return await checked;
    } catch (error) {
      checked = undefined;
      throw error;
    }
  };
}

/** Keeps sandboxes ready for new chats from now on, in the background. */
export function keepAgentsReady(
  opened: AsyncDisposableStack,
  { container_agent: { enabled, ready } }: Config,
  { place, sandboxes, log }: ReadyParts,
): void {
  if (!enabled || ready === 0) return;
  const stop = new AbortController();
  const keeping = place({ signal: stop.signal })
    .then(({ spec }) => sandboxes.warm(ready, spec, { signal: stop.signal }))
    .catch((error) => {
      if (!stop.signal.aborted) log.warn(`No sandboxes are kept ready for agents: ${reasonOf(error)}`);
    });
  opened.defer(async () => {
    stop.abort();
    await keeping;
  });
}

interface ReadyParts {
  readonly place: (options: Cancel) => Promise<AgentPlace>;
  readonly sandboxes: Sandboxes;
  readonly log: Log;
}

const agentBundle = fileURLToPath(new URL('../../bundle/agent-stdin.mjs', import.meta.url));
