import type { Duplex } from 'node:stream';
import type { Cancel } from '../base/cancel.ts';
import type { Sandbox } from './sandbox.ts';

/** The value that programs in a sandbox find in place of a key. Its text explains itself to a reader. */
export const placeholderKey = 'geode-placeholder-the-real-key-stays-outside';

/**
 * `deny-all`: nothing passes. `allow-list`: what a rule names. `ask`: the same, and what no rule decides is held until a
 * person has answered. `allow-all`: every public address. `learn`: the same, and each target is written down.
 */
export const egressModes = ['deny-all', 'allow-list', 'ask', 'allow-all', 'learn'] as const;
export type EgressMode = (typeof egressModes)[number];

/**
 * One thing that a sandbox may reach, or may not. Methods and paths hold for plain HTTP, and for HTTPS where a rule
 * says `inspect`: otherwise nothing of them can be seen inside TLS, and a rule that has them never lets an encrypted
 * connection pass.
 */
export interface EgressRule {
  /** In lower case without a trailing dot: `example.com`, `*.example.com` (not example.com itself), or an address. */
  readonly host: string;
  /** Default: 80 and 443. */
  readonly ports?: readonly number[];
  readonly methods?: readonly string[];
  /** `/api/*` stands for everything below /api/; without `*` the path is exact. */
  readonly paths?: readonly string[];
  /** The host opens the TLS of this host, with a certificate of the sandbox's own authority, and judges each request. */
  readonly inspect?: boolean;
  /** An operator's own word that a private address may be reached. Needs one port and no wildcard. */
  readonly private?: boolean;
  /** In ms since 1970; the rule counts for nothing afterwards. */
  readonly until?: number;
  /** For people: the preset it comes from. */
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

/** A target that a person allowed when asked, while the mode is `ask`. */
export interface EgressGrant extends EgressTarget {
  /** The id of the sandbox that it is for; null: for all of the user. */
  readonly sandboxId: string | null;
  /** The operator of the host allowed this private address. */
  readonly private: boolean;
  readonly grantedAt: number;
  /** In ms since 1970; null: no end. */
  readonly until: number | null;
  /** The approval that says who allowed it. */
  readonly approval: string;
}

/** The reason for a refusal, shown with the result of a command. */
export interface Denial extends EgressTarget {
  readonly at: number;
  /** The rule that refused it, or the mode: `deny *.example.com`, `allow-list`, `private address`. */
  readonly rule: string;
  /** A sentence: what was refused and why. */
  readonly reason: string;
  /** How to ask for it: the command that would allow it; empty where nothing would. */
  readonly ask: string;
}

/** One thing that crossed, or was refused, in the audit. No bodies, no headers, no queries. */
export interface AuditRecord extends EgressTarget {
  readonly at: number;
  readonly sandboxId: string;
  readonly user: string;
  readonly via: 'http' | 'connect' | 'socks' | 'bridge' | 'binding' | 'inspected';
  readonly verdict: 'allowed' | 'denied' | 'failed';
  readonly rule: string;
  readonly method: string | null;
  readonly path: string | null;
  /** The address that was dialled; null when none was. */
  readonly address: string | null;
  readonly status: number | null;
  readonly bytesOut: number;
  readonly bytesIn: number;
  readonly durationMs: number;
}

export interface DoorSpec {
  /** Up to 48 of a-z, 0-9 and "-". */
  readonly name: string;
  /** Which port to take; any other when it is taken, unless it is `exact`. */
  readonly port?: number;
  readonly exact?: boolean;
}

/** Where commands in the sandbox connect to. */
export interface Door {
  readonly name: string;
  /** On 127.0.0.1; null where the sandbox has no loopback. */
  readonly port: number | null;
  /** The path of a Unix socket in the sandbox; null where none could be made. */
  readonly path: string | null;
}

/** The way out of a sandbox that has no network: doors inside, whose connections the host picks up. */
export interface Hatch {
  /** Idempotent by name. When one door cannot be made, none of the new ones stays. */
  open(doors: readonly DoorSpec[], options?: Cancel): Promise<readonly Door[]>;
  close(door: string, options?: Cancel): Promise<void>;
  /**
   * Puts a read-only file of certificates into the sandbox and gives its path: what the image trusts, or `roots` where
   * it names nothing, and this authority. Later calls replace it.
   */
  trust(authority: string, roots: string, options?: Cancel): Promise<string>;
  /**
   * Hands over every connection, each with the name that the guest says it came through: the guest is not trusted
   * with more. One caller at a time; the result ends it. The streams are the caller's to end.
   */
  serve(onConnection: (door: string, stream: Duplex) => void): Disposable;
  /** Records a refusal for the results of the commands running now. Only the latest are kept. */
  note(denial: Denial): void;
  /** The refusals from that time on. */
  denials(since: number): readonly Denial[];
}

/** A binding by its name, with another upstream than its own where that is given. */
export interface BindingSpec {
  /** The name of a known service, or any name with its own `upstream` and `add`. */
  readonly name: string;
  readonly upstream?: string;
  /** How the credential goes out: `bearer`, `basic` (the secret is user:password), `header:NAME`, `query:NAME`. */
  readonly add?: string;
  /** Left out: every method and path of the upstream passes. */
  readonly methods?: readonly string[];
  readonly paths?: readonly string[];
  /** Calls of the upstream's own https URL get the credential too, so that clients need no other URL. */
  readonly inspect?: boolean;
}

/** Everything that the hatch of one sandbox is to be. */
export interface EgressSpec {
  readonly policy: EgressPolicy;
  readonly bindings: readonly BindingSpec[];
}

/** The policy if nobody named one. */
export const reachesNothing: EgressSpec = {
  policy: { mode: 'deny-all', allow: [], deny: [] },
  bindings: [],
};

/** The owner of the sandbox and its name for people. Without a chat it is a run or a single command. */
export interface EgressOwner {
  readonly sandboxId: string;
  readonly user: string;
  readonly chat?: string;
}

/** The hatch of a sandbox that is in this host's hands. Ending it cuts what is open. */
export interface OpenHatch extends Disposable {
  /** Environment variables that lead every command to the proxy. */
  readonly env: Readonly<Record<string, string>>;
  readonly spec: EgressSpec;
  /** Nothing holds a sandbox without walls to a policy. */
  readonly enforced: boolean;
  /** Takes effect at once: what is open and does not pass any more is cut. */
  change(spec: EgressSpec, options?: Cancel): Promise<void>;
}

/** Opens hatches, and remembers those of the sandboxes that stay. */
export interface Egress {
  /** For sandboxes and runs of this user that name nothing; undefined: they may reach nothing. */
  initial(user: string): EgressSpec | undefined;
  /** Denies what the operator denies to everyone, too. */
  bounded(spec: EgressSpec): EgressSpec;
  open(
    sandbox: Pick<Sandbox, 'runtime' | 'hatch'>,
    owner: EgressOwner,
    spec: EgressSpec,
    options?: Cancel,
  ): Promise<OpenHatch>;
  /** The last saved policy; undefined if there is none: then everything is denied. */
  remembered(sandboxId: string): EgressSpec | undefined;
  /** `undefined` forgets it. */
  remember(sandboxId: string, spec: EgressSpec | undefined): void;
}
