/** Classifies the first bytes of a client in a tunnel and checks that they fit its target. */
import { isIP } from 'node:net';
import { hostOf, shownTarget } from '../../contract/host-name.ts';
import type { EgressTarget } from '../../seams/egress.ts';
import type { Broker } from './broker.ts';
import { readClientHello } from './client-hello.ts';

/** A client that sends nothing for this long waits for the server to speak first. */
export const firstBytesMs = 60_000;
/** "access denied" and "unrecognized name", as fatal alerts. */
const accessDenied = Buffer.from([21, 3, 1, 0, 2, 2, 49]);
const unrecognizedName = Buffer.from([21, 3, 1, 0, 2, 2, 112]);

export type FirstBytes = 'tls' | 'http' | 'other' | 'silence';

/** Maximum blank bytes at the start, and maximum length of the first word of an HTTP request. */
const mostBeginning = 256;
const mostWord = 200;

export function isEnough(bytes: Buffer): boolean {
  if (bytes[0] === 22) return readClientHello(bytes) !== 'more';
  return bytes.length >= mostBeginning || beginningOf(bytes) !== 'open';
}

/** Everything that a lenient server may read as HTTP counts as HTTP, and so does a possible start of it. */
export function kindOf(bytes: Buffer): FirstBytes {
  if (bytes[0] === 22) return 'tls';
  return beginningOf(bytes) === 'other' ? 'other' : 'http';
}

/**
 * Empty lines, a word and white space start a request. HTTP/2 without TLS and SSH start the same way but are not
 * HTTP/1. A blank after the word is not enough: the rest of the line may arrive later.
 */
function beginningOf(bytes: Buffer): 'http' | 'other' | 'open' {
  const text = bytes.subarray(0, mostBeginning).toString('latin1').replace(/^\s+/, '');
  if (/^(PRI \*|SSH-)/.test(text)) return 'other';
  if (/^[\w!#$%&'*+.^`|~-]+[ \t\v\f\r]+[!-~]/.test(text)) return 'http';
  if (!/^([\w!#$%&'*+.^`|~-]+[ \t\v\f\r]*)?$/.test(text)) return 'other';
  // An endless word is refused as an unknown method.
  return text.length >= mostWord ? 'http' : 'open';
}

/** Why this ClientHello must not be sent there, with the TLS alert to return. */
export function objectionTo(
  broker: Broker,
  target: EgressTarget,
  bytes: Buffer,
): { reason: string; alert: Buffer } | undefined {
  const hello = readClientHello(bytes);
  const where = shownTarget(target);
  if (hello === 'more' || hello === 'broken') {
    return { reason: `${where}: the TLS ClientHello cannot be read`, alert: accessDenied };
  }
  const { serverName, encryptedHello } = hello;
  const { mode, deny } = broker.policy;
  if (encryptedHello && (mode === 'allow-list' || mode === 'ask' || deny.length > 0)) {
    return { reason: `${where}: the TLS ClientHello hides a name (ECH)`, alert: accessDenied };
  }
  if (isIP(target.host) !== 0) {
    const named = serverName === undefined ? undefined : hostOf(serverName);
    if (named === undefined || deny.length === 0) return undefined;
    const decision = broker.decide({ host: named, port: target.port });
    const isDenied = !decision.allowed && decision.rule.startsWith('deny ');
    return isDenied ? { reason: decision.reason, alert: unrecognizedName } : undefined;
  }
  if (serverName !== undefined && hostOf(serverName) === target.host) return undefined;
  const shown = serverName === undefined ? 'no name' : `the name ${JSON.stringify(serverName.slice(0, 253))}`;
  return { reason: `${where}: TLS asks for ${shown} instead`, alert: unrecognizedName };
}
