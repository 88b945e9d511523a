/** Facts about the request, besides its input. */
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
  /** Fires when the caller leaves, for work that may continue while the server stops. */
  readonly left: AbortSignal;
  readonly stopping: AbortSignal;
  /** The caller's own objects: no handler can reach those of other users. */
  readonly sandboxes: UserSandboxes;
  readonly memory: Memory;
  /** The maximum limits of the caller's sandboxes. */
  readonly mostLimits: Limits;
  /** Set if the host itself calls, for a program in this sandbox. */
  readonly reach: ToolReach | undefined;
  /** Secrets of the caller that must not appear in results. */
  secretValues(): readonly string[];
  /** Where an interrupted caller continues. */
  readonly resumeAfter: number | undefined;
  /** The caller asks for events instead of one answer. */
  readonly wantsEvents: boolean;
  /** The caller asks for a WebSocket. */
  readonly wantsSocket: boolean;
  /** Throws `forbidden` unless the caller has the scope. */
  require(scope: Scope): void;
  /** The request body as it arrives. Reading fails when the connection is lost. */
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

/** True for the operator of the host, on its own socket or with an operator key. */
export function isOperator({ caller }: Pick<Call, 'caller'>): boolean {
  return caller.actsFor === 'anyone' || caller.scopes.includes('admin');
}

/** The caller's name for the audit; on the host's own socket it is the operator. */
export function callerName({ keyId }: Caller): string {
  return /^[0-9a-f]{12}$/.test(keyId) ? `key ${keyId}` : keyId;
}

/** Only the operator, on the host's own socket, may see the objects of all users. */
export function refuseUnlessOwnSocket({ caller }: Pick<Call, 'caller'>, what: string): void {
  if (caller.actsFor !== 'anyone') throw new GeodeError('forbidden', `${what} on the host's own socket only`);
}
