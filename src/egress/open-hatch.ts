import type { Duplex } from 'node:stream';
import type { Cancel } from '../core/cancel.ts';
import type {
  AuditRecord,
  DoorSpec,
  EgressOwner,
  EgressSpec,
  EgressTarget,
  Hatch,
  OpenHatch,
} from '../core/egress.ts';
import { GeodeError } from '../core/errors.ts';
import type { Sandbox } from '../core/sandbox.ts';
import { Broker } from './broker.ts';
import { shownTarget } from './host-name.ts';
import { HttpProxy } from './http.ts';
import { peek } from './peek.ts';
import type { Resolve } from './resolve.ts';
import { checkPolicy } from './rules.ts';
import { serveSocks } from './socks.ts';
import { carry } from './tunnel.ts';
import { proxyVariables } from './variables.ts';

const proxyDoor = 'proxy';
/** Where proxies are looked for; any other port where it is taken. */
const usualProxyPort = 3128;
const firstByteMs = 60_000;

export interface HatchOptions {
  readonly sandbox: Pick<Sandbox, 'runtime' | 'hatch'>;
  readonly owner: EgressOwner;
  readonly spec: EgressSpec;
  readonly audit: (record: AuditRecord) => void;
  readonly resolve?: Resolve;
}

/** Opens the doors that a spec asks for and serves them until it is disposed of. On failure nothing is served. */
export async function openHatch(
  { sandbox, owner, spec, audit, resolve }: HatchOptions,
  cancel: Cancel = {},
): Promise<OpenHatch> {
  const { hatch, runtime } = sandbox;
  if (hatch === undefined) throw new GeodeError('cannot_enforce', 'This sandbox has no hatch.');
  let current = { ...spec, policy: checkPolicy(spec.policy) };
  let env = await openDoors(hatch, runtime, current, cancel);
  const broker = new Broker({
    sandboxId: owner.sandboxId,
    user: owner.user,
    hatch,
    policy: current.policy,
    ask: askFor(owner),
    audit,
    ...(resolve && { resolve }),
  });
  const proxy = new HttpProxy(broker);
  const serving = hatch.serve((door, stream) => {
    stream.on('error', () => {});
    const bridge = bridgeOf(current, door);
    if (door === proxyDoor) void serveProxy(broker, proxy, stream);
    else if (bridge !== undefined) void serveBridge(broker, proxy, bridge, stream);
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
    async change(next, options = {}) {
      const checked = { ...next, policy: checkPolicy(next.policy) };
      const before = current;
      env = await openDoors(hatch, runtime, checked, options);
      current = checked;
      broker.policy = checked.policy;
      const kept = new Set(doorsOf(checked, runtime).map(({ name }) => name));
      const gone = doorsOf(before, runtime).filter(({ name }) => !kept.has(name));
      await Promise.all(gone.map(({ name }) => hatch.close(name, options)));
    },
    [Symbol.dispose]() {
      serving[Symbol.dispose]();
      broker[Symbol.dispose]();
      proxy[Symbol.dispose]();
    },
  };
}

async function openDoors(
  hatch: Hatch,
  runtime: string,
  spec: EgressSpec,
  cancel: Cancel,
): Promise<Readonly<Record<string, string>>> {
  const doors = await hatch.open(doorsOf(spec, runtime), cancel);
  const proxy = doors.find(({ name }) => name === proxyDoor);
  return proxy === undefined ? {} : proxyVariables(proxy);
}

/** Native sandboxes share the machine's ports: theirs may be any. */
function doorsOf({ policy }: EgressSpec, runtime: string): readonly DoorSpec[] {
  const bridges = (policy.bridges ?? []).map(({ port }) => ({ name: bridgeName(port), port, exact: true }));
  return [{ name: proxyDoor, port: runtime === 'native' ? 0 : usualProxyPort }, ...bridges];
}

function bridgeName(port: number): string {
  return `bridge-${port}`;
}

function bridgeOf({ policy }: EgressSpec, door: string): EgressTarget | undefined {
  return policy.bridges?.find(({ port }) => bridgeName(port) === door)?.to;
}

/** SOCKS5 begins with a 5, and no HTTP does. */
async function serveProxy(broker: Broker, proxy: HttpProxy, stream: Duplex): Promise<void> {
  const first = await peek(stream, (bytes) => bytes.length > 0, firstByteMs);
  if (first.length === 0) stream.destroy();
  else if (first[0] === 5) await serveSocks(broker, stream, (inner, target) => proxy.accept(inner, target));
  else proxy.accept(stream);
}

async function serveBridge(
  broker: Broker,
  proxy: HttpProxy,
  target: EgressTarget,
  stream: Duplex,
): Promise<void> {
  const passage = await broker.pass(target, 'bridge');
  if (!('socket' in passage) || stream.destroyed) {
    if ('socket' in passage) passage.socket.destroy();
    return void stream.destroy();
  }
  await carry(broker, target, passage, stream, {
    via: 'bridge',
    toHttp: (inner) => proxy.accept(inner, target),
  });
}

/** The next command, as a person would type it. */
function askFor({ user, chat }: EgressOwner): (target: EgressTarget) => string {
  return (target) => {
    const shown = [80, 443].includes(target.port) ? target.host : shownTarget(target);
    return chat === undefined ? `--allow ${shown}` : `geode egress allow ${user}/${chat} ${shown}`;
  };
}
