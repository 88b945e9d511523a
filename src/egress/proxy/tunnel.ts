import type { Duplex } from 'node:stream';
import { shownTarget } from '../../contract/host-name.ts';
import type { EgressTarget } from '../../seams/egress.ts';
import type { Request } from '../policy/policy.ts';
import type { Broker, Passage, Via } from './broker.ts';
import { type FirstBytes, firstBytesMs, isEnough, kindOf, objectionTo } from './first-bytes.ts';
import { join } from './hatch-connection.ts';
import { peek } from './peek.ts';

/** Ports for TLS and HTTP only: any other protocol would pass without a visible name. */
const webPorts: ReadonlySet<number> = new Set([80, 443]);

/**
 * Carries an allowed connection after the client got its answer. The first bytes must fit the target: the name in TLS
 * must be the allowed name, and plain HTTP goes to the proxy, which checks each request.
 */
export async function carry(
  broker: Broker,
  request: Request,
  { socket: upstream, address, rule }: Passage,
  client: Duplex,
  { via, toHttp }: { readonly via: Via; readonly toHttp: (client: Duplex) => void },
): Promise<void> {
  const startedAt = Date.now();
  const target: EgressTarget = { host: request.host, port: request.port };
  const leave = broker.enterTunnel(request, client, upstream);
  const over = (bytesOut: number, bytesIn: number, verdict: 'allowed' | 'denied' = 'allowed') => {
    leave();
    if (verdict === 'allowed')
      broker.audit({ request, via, rule, verdict, address, bytesOut, bytesIn, startedAt });
  };
  client.once('error', () => {});
  const words = await firstWords(client, upstream, target.port);
  if (words.kind === 'silence') {
    client.destroy();
    upstream.destroy();
    return over(0, 0);
  }
  if (words.kind === 'http') {
    upstream.destroy();
    leave();
    return toHttp(client);
  }
  const objection = words.kind === 'tls' ? objectionTo(broker, target, words.bytes) : undefined;
  if (objection !== undefined) {
    broker.deny(request, via, { allowed: false, rule: 'server name', reason: objection.reason });
    upstream.destroy();
    client.end(objection.alert);
    return over(0, 0, 'denied');
  }
  if (words.kind === 'other' && webPorts.has(target.port)) {
    const reason = `${shownTarget(target)}: the connection uses neither TLS nor HTTP`;
    broker.deny(request, via, { allowed: false, rule: 'TLS or HTTP on ports 80 and 443', reason });
    upstream.destroy();
    client.destroy();
    return over(0, 0, 'denied');
  }
  join(client, upstream, over);
}

/** The server may speak first, except on web ports. */
async function firstWords(
  client: Duplex,
  upstream: Duplex,
  port: number,
): Promise<{ kind: FirstBytes; bytes: Buffer }> {
  const serverSpoke = new AbortController();
  const spoke = () => serverSpoke.abort();
  if (!webPorts.has(port)) upstream.once('readable', spoke);
  upstream.once('close', spoke);
  const bytes = await peek(client, isEnough, firstBytesMs, serverSpoke.signal);
  upstream.off('readable', spoke).off('close', spoke);
  // The stream flows only after the listener is really removed.
  await new Promise(setImmediate);
  if (bytes.length > 0) return { kind: kindOf(bytes), bytes };
  return { kind: serverSpoke.signal.aborted && !webPorts.has(port) ? 'other' : 'silence', bytes };
}
