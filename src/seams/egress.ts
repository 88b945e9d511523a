import type { Duplex } from 'node:stream';
import type { Cancel } from '../base/cancel.ts';
import type { Network, Sandbox } from './sandbox.ts';

/** The value that programs in a sandbox find in place of a key. Its text explains what it is. */
export const placeholderKey = 'geode-placeholder-the-real-key-stays-outside';

/**
 * `deny-all`: nothing is allowed. `allow-list`: targets that a rule names. `ask`: the same, and a target without a
 * rule waits for a person's answer. `allow-all`: every public address. `learn`: the same, and each target is
 * recorded.
 */
export const egressModes = ['deny-all', 'allow-list', 'ask', 'allow-all', 'learn'] as const;
export type EgressMode = (typeof egressModes)[number];

/**
 * One target that a sandbox may or may not reach. Methods and paths apply to plain HTTP, and to HTTPS if the rule has
 * `inspect`. Otherwise they are invisible inside TLS, so a rule with methods or paths never allows an encrypted
 * connection.
 */
export interface EgressRule {
  /**
   * Lower case without a trailing dot: `example.com`, `*.example.com` (does not include example.com itself), or an
   * address.
   */
  readonly host: string;
  /** Default: 80 and 443. */
  readonly ports?: readonly number[];
  readonly methods?: readonly string[];
  /** `/api/*` matches everything below /api/; without `*` the path is exact. */
  readonly paths?: readonly string[];
  /**
   * Geode decrypts the TLS of this host, with a certificate from the sandbox's own authority, and checks each
   * request.
   */
  readonly inspect?: boolean;
  /** The operator's permission to reach a private address. Needs one port and no wildcard. */
  readonly private?: boolean;
  /** In ms since 1970; the rule has no effect afterwards. */
  readonly until?: number;
  /** The preset that it comes from, for display. */
  readonly from?: string;
}

/** A deny rule always wins. */
export interface EgressPolicy {
  readonly mode: EgressMode;
  readonly allow: readonly EgressRule[];
  readonly deny: readonly EgressRule[];
  /** A port on the sandbox's loopback that leads to one host and port, for clients that know no proxy. */
  readonly bridges?: readonly EgressBridge[];
}

export interface EgressBridge {
  readonly port: number;
  readonly to: EgressTarget;
}

export interface EgressTarget {
  readonly host: string;
  readonly port: number;
}

/** A target that a person allowed in the mode `ask`. */
export interface EgressGrant extends EgressTarget {
  /** The id of the sandbox; null: all sandboxes of the user. */
  readonly sandboxId: string | null;
  /** The operator of the host allowed this private address. */
  readonly private: boolean;
  readonly grantedAt: number;
  /** In ms since 1970; null: no end. */
  readonly until: number | null;
  /** The approval that allowed it. */
  readonly approval: string;
}

/** The reason for a refusal, shown with the result of a command. */
export interface Denial extends EgressTarget {
  readonly at: number;
  /** The rule that refused it, or the mode: `deny *.example.com`, `allow-list`, `private address`. */
  readonly rule: string;
  /** A sentence: what was refused and why. */
  readonly reason: string;
  /** The command that would allow it; empty if no command would. */
  readonly ask: string;
}

/** An audit record of one request that was allowed or refused. Contains no bodies, headers or queries. */
export interface AuditRecord extends EgressTarget {
  readonly at: number;
  readonly sandboxId: string;
  readonly user: string;
  readonly via: 'http' | 'connect' | 'socks' | 'bridge' | 'binding' | 'inspected';
  readonly verdict: 'allowed' | 'denied' | 'failed';
  readonly rule: string;
  readonly method: string | null;
  readonly path: string | null;
  /** The dialled address; null if none was dialled. */
  readonly address: string | null;
  readonly status: number | null;
  readonly bytesOut: number;
  readonly bytesIn: number;
  readonly durationMs: number;
}

export interface HatchDoorSpec {
  /** Up to 48 of a-z, 0-9 and "-". */
  readonly name: string;
  /** The preferred port. Another one is used if it is taken, unless `exact` is set. */
  readonly port?: number;
  readonly exact?: boolean;
}

/** Where commands in the sandbox connect to. */
export interface HatchDoor {
  readonly name: string;
  /** On 127.0.0.1; null where the sandbox has no loopback. */
  readonly port: number | null;
  /** Path of a Unix socket in the sandbox; null if none could be made. */
  readonly path: string | null;
}

/** The way out of a sandbox that has no network: doors inside the sandbox, whose connections the host picks up. */
export interface Hatch {
  /** Idempotent by name. If one door cannot be made, no new door remains. */
  open(doors: readonly HatchDoorSpec[], options?: Cancel): Promise<readonly HatchDoor[]>;
  close(door: string, options?: Cancel): Promise<void>;
  /**
   * Puts a read-only certificate file into the sandbox and returns its path. The file has the certificates that the
   * image trusts, or `roots` if the image has none, and this authority. Later calls replace it.
   */
  trust(authority: string, roots: string, options?: Cancel): Promise<string>;
  /**
   * Yields every connection with the door name that the guest reports; the guest is trusted with nothing else. One
   * caller at a time; the result ends it. The caller ends the streams.
   */
  serve(onConnection: (door: string, stream: Duplex) => void): Disposable;
  /** Records a refusal for the results of running commands. Only the latest are kept. */
  note(denial: Denial): void;
  /** Refusals since that time. */
  denials(since: number): readonly Denial[];
}

/** A binding by its name, with `upstream` replacing its own if given. */
export interface BindingSpec {
  /** The name of a known service, or any name together with `upstream` and `add`. */
  readonly name: string;
  readonly upstream?: string;
  /** How the credential is sent: `bearer`, `basic` (the secret is user:password), `header:NAME`, `query:NAME`. */
  readonly add?: string;
  /** Default: every method and path of the upstream. */
  readonly methods?: readonly string[];
  readonly paths?: readonly string[];
  /** Requests to the upstream's own https URL get the credential too, so clients need no other URL. */
  readonly inspect?: boolean;
}

/** The settings of one sandbox's hatch. */
export interface EgressSpec {
  readonly policy: EgressPolicy;
  readonly bindings: readonly BindingSpec[];
}

/** The policy if none was given: everything is refused, and the refusals are recorded. */
export const reachesNothing: EgressSpec = {
  policy: { mode: 'deny-all', allow: [], deny: [] },
  bindings: [],
};

/**
 * The settings of a sandbox's hatch; undefined: no hatch. Without a policy the hatch refuses everything, so that the
 * refusals are seen. A sandbox without walls, or whose network was set, gets no hatch without a policy.
 */
export function hatchSpecOf(
  given: EgressSpec | undefined,
  { runtime, hatch }: Pick<Sandbox, 'runtime' | 'hatch'>,
  network?: Network,
): EgressSpec | undefined {
  if (given !== undefined) return given;
  return network === undefined && runtime !== 'native' && hatch !== undefined ? reachesNothing : undefined;
}

/** The owner of the sandbox and its name for display. Without a chat it is a run or a single command. */
export interface EgressOwner {
  readonly sandboxId: string;
  readonly user: string;
  readonly chat?: string;
}

/** The hatch of a sandbox that this host holds. Ending it closes the open connections. */
export interface OpenHatch extends Disposable {
  /** Environment variables that send the traffic of every command to the proxy. */
  readonly env: Readonly<Record<string, string>>;
  readonly spec: EgressSpec;
  /** False for a sandbox without walls, which can bypass the policy. */
  readonly enforced: boolean;
  /** Takes effect at once: open connections that the new policy does not allow are closed. */
  change(spec: EgressSpec, options?: Cancel): Promise<void>;
}

/** Opens hatches, and stores those of persistent sandboxes. */
export interface Egress {
  /** The default policy of this user for sandboxes and runs without one; undefined: nothing allowed. */
  initial(user: string): EgressSpec | undefined;
  /** Adds the targets that the operator denies to everyone. */
  bounded(spec: EgressSpec): EgressSpec;
  /** Opens the proxy's door of a blank sandbox ahead of its policy, and returns the variables that name it. */
  prepare(
    sandbox: Pick<Sandbox, 'runtime' | 'hatch'>,
    options?: Cancel,
  ): Promise<Readonly<Record<string, string>>>;
  open(
    sandbox: Pick<Sandbox, 'runtime' | 'hatch'>,
    owner: EgressOwner,
    spec: EgressSpec,
    options?: Cancel,
  ): Promise<OpenHatch>;
  /** The last saved policy; undefined if none was saved: see `hatchSpecOf`. */
  remembered(sandboxId: string): EgressSpec | undefined;
  /** `undefined` deletes it. */
  remember(sandboxId: string, spec: EgressSpec | undefined): void;
}
