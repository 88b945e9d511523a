import type { Duplex } from 'node:stream';
import type { Cancel } from '../base/cancel.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import { localUser } from '../base/identity.ts';
import { checkPolicy } from '../contract/egress-rules.ts';
import { hostOf, shownTarget } from '../contract/host-name.ts';
import {
  type AuditRecord,
  type Denial,
  type EgressOwner,
  type EgressSpec,
  type EgressTarget,
  type Hatch,
  type HatchDoorSpec,
  type OpenHatch,
  reachesNothing,
} from '../seams/egress.ts';
import type { Sandbox } from '../seams/sandbox.ts';
import type { Telemetry, TelemetryRelay } from '../seams/telemetry.ts';
import { BindingServer, type BindingServerOptions, missingSecret } from './bindings/binding-server.ts';
import { bindingOf } from './bindings/bindings.ts';
import { openTelemetryDoor } from './bindings/telemetry-door.ts';
import { type AuthorityStore, SandboxTrust } from './inspection/sandbox-trust.ts';
import { UpstreamTls } from './inspection/upstream-tls.ts';
import type { Seen } from './policy/learned.ts';
import type { Person } from './policy/person.ts';
import type { Request } from './policy/policy.ts';
import { Broker } from './proxy/broker.ts';
import { HttpProxy } from './proxy/http.ts';
import { peek } from './proxy/peek.ts';
import { type Resolve, systemResolve } from './proxy/resolve.ts';
import { serveSocks } from './proxy/socks.ts';
import { carry } from './proxy/tunnel.ts';
import { bindingVariables, proxyVariables, trustVariables } from './proxy/variables.ts';

const proxyDoor = 'proxy';
/** Preferred port of proxies; another one if it is taken. */
const usualProxyPort = 3128;
const firstByteMs = 60_000;

export interface HatchOptions {
  readonly sandbox: Pick<Sandbox, 'runtime' | 'hatch'>;
  readonly owner: EgressOwner;
  readonly spec: EgressSpec;
  readonly audit: (record: AuditRecord) => void;
  /** Receives each refusal at once. */
  readonly onDenied?: (denial: Denial) => void;
  readonly resolve?: Resolve;
  readonly bindings?: BindingServices;
  /** Where the authority of a persistent sandbox is stored; left out: it lives as long as this hatch. */
  readonly authority?: AuthorityStore;
  /** Authorities in PEM that the host trusts in addition to the usual ones for upstreams. */
  readonly upstreamCa?: string;
  readonly tape?: BindingServerOptions['tape'];
  readonly telemetry?: Telemetry;
  /** Values that relayed traces must not show. */
  readonly secrets?: () => readonly string[];
  /** Asks the person in the mode `ask`, and knows earlier answers. */
  readonly person?: Person;
  /** Set by this hatch: a function that checks the open connections again. */
  readonly rechecks?: Set<() => void>;
  /** Receives each allowed target in the mode `learn`. */
  readonly onLearned?: (seen: Seen) => void;
}

/** Services of the host that bindings use for the user of this sandbox. */
interface BindingServices {
  readonly secret: (name: string, upstream: URL) => string | undefined;
  /** Why no model may be called now. */
  readonly refusal: () => string | undefined;
  readonly onUsage: BindingServerOptions['onUsage'];
}

/** Serves the connections of one door. */
type DoorServer = Pick<TelemetryRelay, 'accept'> & Disposable;

/** Opens the doors that a spec needs and serves them until it is disposed of. A failure leaves nothing open. */
export async function openHatch(options: HatchOptions, cancel: Cancel = {}): Promise<OpenHatch> {
  const { sandbox, owner, audit, onDenied, resolve, person, onLearned } = options;
  const { hatch, runtime } = sandbox;
  if (hatch === undefined) throw new GeodeError('cannot_enforce', 'This sandbox has no hatch.');
  let current = checkEgressSpec(options.spec, options);
  const trust = new SandboxTrust(hatch, options.authority);
  let env = await openDoors(hatch, runtime, current, trust, cancel);
  const broker = new Broker({
    sandboxId: owner.sandboxId,
    user: owner.user,
    hatch,
    policy: current.policy,
    ask: askFor(owner),
    audit,
    ...(onDenied && { onDenied }),
    ...(resolve && { resolve }),
    ...(person && { person }),
    ...(onLearned && { onLearned }),
  });
  const recheck = () => broker.recheck();
  options.rechecks?.add(recheck);
  const upstreamTls = new UpstreamTls(options.upstreamCa);
  let servers = bindingServers(current, broker, upstreamTls, options);
  let made: HttpProxy | undefined;
  /** Most sandboxes request nothing, so the proxy is made for the first connection. */
  const proxyOf = () => {
    made ??= new HttpProxy(broker, {
      upstreamTls,
      tape: options.tape,
      authority: () => trust.authority,
      bound: (target) => boundTo(current, servers, target),
    });
    return made;
  };
  const serving = hatch.serve((door, stream) => {
    stream.on('error', () => {});
    const bridge = bridgeOf(current, door);
    const server = servers.get(door);
    if (door === proxyDoor) void serveProxy(broker, proxyOf(), stream);
    else if (bridge !== undefined) void serveBridge(broker, proxyOf(), bridge, stream);
    else if (server !== undefined) server.accept(stream);
    else stream.destroy();
  });
  return {
    get env() {
      return env;
    },
    get spec() {
      return current;
    },
    enforced: runtime !== 'native',
    async change(next, cancelled = {}) {
      const checked = checkEgressSpec(next, options);
      const before = current;
      env = await openDoors(hatch, runtime, checked, trust, cancelled);
      current = checked;
      broker.policy = checked.policy;
      for (const server of servers.values()) server[Symbol.dispose]();
      servers = bindingServers(checked, broker, upstreamTls, options);
      const kept = new Set(doorsOf(checked, runtime).map(({ name }) => name));
      const gone = doorsOf(before, runtime).filter(({ name }) => !kept.has(name));
      await Promise.all(gone.map(({ name }) => hatch.close(name, cancelled)));
    },
    [Symbol.dispose]() {
      options.rechecks?.delete(recheck);
      serving[Symbol.dispose]();
      broker[Symbol.dispose]();
      made?.[Symbol.dispose]();
      for (const server of servers.values()) server[Symbol.dispose]();
    },
  };
}

export async function prepareProxy(
  { hatch, runtime }: HatchOptions['sandbox'],
  cancel: Cancel = {},
): Promise<Readonly<Record<string, string>>> {
  const [proxy] = (await hatch?.open(doorsOf(reachesNothing, runtime), cancel)) ?? [];
  return proxy === undefined ? {} : proxyVariables(proxy);
}

/** Throws for settings that could not be served, before anything is opened. */
export function checkEgressSpec(
  spec: EgressSpec,
  { bindings }: { readonly bindings?: Pick<BindingServices, 'secret'> },
): EgressSpec {
  const policy = checkPolicy(spec.policy);
  for (const { name, secret, upstream } of spec.bindings.map(bindingOf)) {
    if (secret !== null && bindings?.secret(secret, upstream) === undefined) throw missingSecret(name);
  }
  return { ...spec, policy };
}

function bindingServers(
  { bindings }: EgressSpec,
  broker: Broker,
  upstreamTls: UpstreamTls,
  options: HatchOptions,
): ReadonlyMap<string, DoorServer> {
  const { bindings: services, resolve = systemResolve, tape, telemetry, owner } = options;
  return new Map(
    bindings.map(bindingOf).map((binding) => [
      bindingDoor(binding.name),
      binding.isTelemetry
        ? openTelemetryDoor({ ...options, broker, binding })
        : new BindingServer({
            broker,
            binding,
            resolve,
            upstreamTls,
            secret: () => services?.secret(binding.secret ?? binding.name, binding.upstream),
            refusal: () => services?.refusal(),
            onUsage: (usage) => services?.onUsage(usage),
            ...(tape && { tape }),
            span: () => telemetry?.turnOf(owner.user, owner.chat),
          }),
    ]),
  );
}

async function openDoors(
  hatch: Hatch,
  runtime: string,
  spec: EgressSpec,
  trust: SandboxTrust,
  cancel: Cancel,
): Promise<Readonly<Record<string, string>>> {
  const trusted = isInspecting(spec) ? await trust.place(cancel) : undefined;
  const doors = await hatch.open(doorsOf(spec, runtime), cancel).catch(refuseBridge);
  const named = (wanted: string) => doors.find(({ name }) => name === wanted);
  const proxy = named(proxyDoor);
  const bound = spec.bindings.map(bindingOf).map((binding) => {
    const door = named(bindingDoor(binding.name));
    return door === undefined ? {} : bindingVariables(binding, door);
  });
  return Object.assign({}, proxy && proxyVariables(proxy), trusted && trustVariables(trusted), ...bound);
}

function isInspecting({ policy, bindings }: EgressSpec): boolean {
  return [...policy.allow, ...policy.deny, ...bindings].some(({ inspect }) => inspect === true);
}

/** The binding that answers for an https URL of its own upstream. */
function boundTo(
  { bindings }: EgressSpec,
  servers: ReadonlyMap<string, DoorServer>,
  { host, port }: EgressTarget,
): ((client: Duplex) => void) | undefined {
  const binding = bindings
    .filter(({ inspect }) => inspect === true)
    .map(bindingOf)
    .find(({ upstream }) => hostOf(upstream.hostname) === host && Number(upstream.port || 443) === port);
  const server = binding === undefined ? undefined : servers.get(bindingDoor(binding.name));
  return server === undefined ? undefined : (client) => server.accept(client);
}

/** All doors except bridges accept any port, so only a bridge can need a port that is taken. */
function refuseBridge(error: unknown): never {
  if (!isGeodeError(error, 'tunnel_refused')) throw error;
  throw new GeodeError('invalid_input', `A bridge cannot be opened: ${error.message}`, {
    cause: error,
    hint: 'Choose another port for the bridge, from 1024 on.',
  });
}

/** Native sandboxes share the machine's ports, so they accept any port. */
function doorsOf({ policy, bindings }: EgressSpec, runtime: string): readonly HatchDoorSpec[] {
  const bridges = (policy.bridges ?? []).map(({ port }) => ({ name: bridgeName(port), port, exact: true }));
  const bound = bindings.map(({ name }) => ({ name: bindingDoor(name) }));
  return [{ name: proxyDoor, port: runtime === 'native' ? 0 : usualProxyPort }, ...bridges, ...bound];
}

function bindingDoor(name: string): string {
  return `bind-${name}`;
}

function bridgeName(port: number): string {
  return `bridge-${port}`;
}

function bridgeOf({ policy }: EgressSpec, door: string): EgressTarget | undefined {
  return policy.bridges?.find(({ port }) => bridgeName(port) === door)?.to;
}

/** SOCKS5 starts with a 5, HTTP never does. */
async function serveProxy(broker: Broker, proxy: HttpProxy, stream: Duplex): Promise<void> {
  const first = await peek(stream, (bytes) => bytes.length > 0, firstByteMs);
  if (first.length === 0) stream.destroy();
  else if (first[0] === 5) await serveSocks(broker, stream, proxy);
  else proxy.accept(stream);
}

async function serveBridge(
  broker: Broker,
  proxy: HttpProxy,
  target: EgressTarget,
  stream: Duplex,
): Promise<void> {
  const request = { ...target };
  const inspection = proxy.inspection(request, stream, 'bridge');
  if (inspection !== undefined) return 'serve' in inspection ? inspection.serve() : void stream.destroy();
  const passage = await broker.pass(request, 'bridge', stream);
  if (!('socket' in passage) || stream.destroyed) {
    if ('socket' in passage) passage.socket.destroy();
    return void stream.destroy();
  }
  await carry(broker, request, passage, stream, {
    via: 'bridge',
    toHttp: (inner) => proxy.accept(inner, request),
  });
}

/** The suggested command, ready to type. */
function askFor({ user, chat }: EgressOwner): (request: Request) => string {
  return (request) => {
    const word = quoted(wordFor(request));
    if (chat === undefined) return `--allow ${word}`;
    const name = user === localUser && !chat.includes('/') ? chat : `${user}/${chat}`;
    return `geode egress allow ${quoted(name)} ${word}`;
  };
}

function wordFor({ host, port, http, inspected }: Request): string {
  const shown = [80, 443].includes(port) ? host : shownTarget({ host, port });
  if (!inspected || http === undefined) return shown;
  return `inspect:${http.method} https://${shown}${http.path.replace(/[?#].*/s, '')}`;
}

/** Quoted as one word for a shell; names may contain anything. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word)
    ? word
    : `'${word.replace(/[^\x20-\x7e]/g, '?').replaceAll("'", "'\\''")}'`;
}
