import { join } from 'node:path/posix';
import type { Cancel } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import type { PriceTable } from '../../base/prices.ts';
import type { PersistentSandbox, UserSandboxes } from '../../seams/persistent.ts';
import { type BuiltinOptions, beginOrGoOn, connectTools, namespaceOf, permitIn } from '../builtin/builtin.ts';
import { modelMessages } from '../builtin/compaction.ts';
import { History } from '../builtin/history.ts';
import { recalled } from '../builtin/recalled.ts';
import { replayOf } from '../builtin/replay-loop.ts';
import { offeredIn } from '../builtin/tools.ts';
import type { AgentDriver, DriverTurn, TurnEnd } from '../driver.ts';
import { openBound } from '../programs/bound-sandbox.ts';
import { followProgram } from './follow-program.ts';
import type { AgentPlace } from './place.ts';
import { reachProgram, stateOf } from './reach-program.ts';
import { type ModelService, serviceOf } from './upstream.ts';

export interface SandboxedOptions extends BuiltinOptions {
  readonly prices: PriceTable;
  /** Model settings by name, as they are now. */
  readonly services: () => Readonly<Record<string, ModelService>>;
  /** Timeout of one turn. */
  readonly timeoutMs: number;
  /** Timeout of one answer of the model. */
  readonly answerTimeoutMs: number;
  readonly retries: number;
  readonly place: (options: Cancel) => Promise<AgentPlace>;
}

/**
 * Geode's own agent inside the sandbox of its chat. Loop and tools run there, with the chat's files and session and
 * without network. The model is reached through a binding, so no key is inside. The host stores the conversation in
 * the same form as for its own loop, so a chat can change from one to the other.
 */
export function sandboxedDriver(options: SandboxedOptions): AgentDriver {
  const idOf = (model: string | null) => options.models.get(model ?? options.model).id;
  return {
    name: 'builtin',
    listens: true,
    check: (model) => void idOf(model),
    async open(sandboxes, chat, signal, model) {
      const place = await options.place({ signal });
      const service = serviceOf(idOf(model), options.services());
      const binding = { name: service.kind, upstream: service.upstream };
      const bound = () => openBound(sandboxes, chat, { binding, spec: place.spec, signal });
      return await withProgram(await bound(), place, { sandboxes, bound, signal });
    },
    turn: (turn) => leadTurn(turn, idOf(turn.model), options),
    // The same tools, driven from the host: the copy then needs no way to the model.
    replay: replayOf(options),
  };
}

async function leadTurn(turn: DriverTurn, id: string, options: SandboxedOptions): Promise<TurnEnd> {
  const history = new History(options.ledger, turn.conversation, turn.turn);
  const memory = options.memory.in(namespaceOf(turn));
  const before = stateOf(turn);
  if (before === undefined) {
    const done = await beginOrGoOn(turn, history, () => recalled(turn, memory, options.recallTokens));
    if (done !== undefined) return done;
  }
  await using tools = await connectTools(turn, options.tools);
  const program = await reachProgram(turn, before, {
    ...options,
    history,
    tools: offeredIn(tools),
    provider: serviceOf(id, options.services()).kind,
    model: id.slice(id.indexOf('/') + 1),
    messages: () =>
      modelMessages(turn, history, {
        historyTokens: options.historyTokens,
        summariser: () => options.models.get('cheap'),
      }),
  });
  return await followProgram(turn, program, {
    ...{ history, memory, model: id, prices: options.prices },
    permit: permitIn(turn, history),
    schedules: options.schedules?.(turn.user),
    hostTools: tools,
  });
}

/** A sandbox that has run since before an upgrade mounts a deleted folder; a restart mounts the new one. */
async function withProgram(
  sandbox: PersistentSandbox,
  { program }: AgentPlace,
  again: {
    readonly sandboxes: UserSandboxes;
    readonly bound: () => Promise<PersistentSandbox>;
    readonly signal: AbortSignal | undefined;
  },
): Promise<PersistentSandbox> {
  const { sandboxes, bound, signal } = again;
  const { chat } = sandbox;
  if (await sandbox.rootFiles.exists(program, { signal })) return sandbox;
  await sandboxes.stop(chat, { signal });
  const restarted = await bound();
  if (await restarted.rootFiles.exists(program, { signal })) return restarted;
  const name = JSON.stringify(chat);
  throw new GeodeError('agent_unavailable', `The sandbox of ${name} was created without ${join(program)}.`, {
    hint: '`/file PATH` sends you a file of it; then `/new empty` starts in a new sandbox. The operator can also use geode sandbox cp and rm.',
  });
}
