/** Facts about the request that a handler answers, apart from its input. */
import type { Context } from 'hono';
import { GeodeError } from '../base/errors.ts';
import type { Scope } from '../contract/keys.ts';
import type { Limits } from '../seams/limits.ts';
import type { Memory } from '../seams/memory.ts';
import type { UserSandboxes } from '../seams/persistent.ts';
import type { ToolReach } from '../seams/tools.ts';
import type { ApiEnv, Caller } from './environment.ts';
import { refuseWithout } from './guards/auth.ts';
import { lastEventId, signalOf, wantsEvents } from './streams.ts';

export interface Call {
  readonly caller: Caller;
  /** Fires when the caller leaves or the server stops. */
  readonly signal: AbortSignal;
  /** Fires when the caller leaves: for what may end in its own time when the server stops. */
  readonly left: AbortSignal;
  readonly stopping: AbortSignal;
  /** The caller's own: no handler can reach those of others. */
  readonly sandboxes: UserSandboxes;
  readonly memory: Memory;
  /** The most that the caller's sandboxes may use. */
  readonly mostLimits: Limits;
  /** The host itself calls, for a program in this sandbox. */
  readonly reach: ToolReach | undefined;
  /** Values of the caller that no result may show. */
  secretValues(): readonly string[];
  /** Where a caller that was cut off goes on. */
  readonly resumeAfter: number | undefined;
  /** The caller asks for events where it could have one answer. */
  readonly wantsEvents: boolean;
  /** The caller asks for a WebSocket. */
  readonly wantsSocket: boolean;
  /** `forbidden` unless the caller has the scope. */
  require(scope: Scope): void;
  /** The bytes that are sent, as they come. A caller that is cut off makes the reading fail. */
  body(): AsyncIterable<Uint8Array>;
}

export function callOf(context: Context<ApiEnv>): Call {
  const { req, env, var: known } = context;
  return {
    get caller() {
      return known.caller;
    },
    get signal() {
      return signalOf(context);
    },
    left: req.raw.signal,
    stopping: known.stopping,
    get sandboxes() {
      return known.sandboxes;
    },
    get memory() {
      return known.memory;
    },
    get mostLimits() {
      return known.mostLimits;
    },
    reach: env.reach,
    secretValues: () => known.secretValues(),
    get resumeAfter() {
      return lastEventId(context);
    },
    get wantsEvents() {
      return wantsEvents(context);
    },
    wantsSocket: env.upgrade !== undefined,
    require: (scope) => refuseWithout(context, scope),
    async *body() {
      if (req.raw.body !== null) yield* req.raw.body;
    },
  };
}

/** True for the operator of the host: on its own socket, or with an operator key. */
export function isOperator({ caller }: Pick<Call, 'caller'>): boolean {
  return caller.actsFor === 'anyone' || caller.scopes.includes('admin');
}

/** The name for the audit: on the host's own socket it is the operator. */
export function nameOf({ keyId }: Caller): string {
  return /^[0-9a-f]{12}$/.test(keyId) ? `key ${keyId}` : keyId;
}

/** Only the operator, on the host's own socket, may see the objects of all users. */
export function refuseUnlessOwnSocket({ caller }: Pick<Call, 'caller'>, what: string): void {
  if (caller.actsFor !== 'anyone') throw new GeodeError('forbidden', `${what} on the host's own socket only`);
}
