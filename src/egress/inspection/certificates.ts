/** The two certificates for inspection: the authority's own, and one for a host. P-256 and SHA-256. */
import { createHash, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { bits, boolean, context, identifier, integer, octets, sequence, setOf, time, utf8 } from './der.ts';

const dayMs = 24 * 3_600_000;
/** Start a little in the past, because clocks differ and a certificate from the future is refused. */
const beforeMs = dayMs;
const authorityDays = 3_650;
/** Apple's clients refuse more than 825 days. A new certificate costs a millisecond. */
export const leafDays = 30;
const longestName = 64;

const ecdsaWithSha256 = sequence(identifier('1.2.840.10045.4.3.2'));

interface Certified {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  /** The key of the signer. */
  readonly signingKey: KeyObject;
  readonly days: number;
  readonly extensions: readonly Buffer[];
}

/** Signs for hosts, but not for other authorities. */
export function authorityCertificate(name: string, privateKey: KeyObject): string {
  const publicKey = createPublicKey(privateKey);
  return certificate({
    subject: name,
    issuer: name,
    publicKey,
    signingKey: privateKey,
    days: authorityDays,
    extensions: [
      extension('2.5.29.19', sequence(boolean(true), integer(Buffer.from([0]))), true),
      extension('2.5.29.15', bits(Buffer.from([0b0000_0110]), 1), true),
      extension('2.5.29.14', octets(keyId(publicKey))),
      extension('2.5.29.35', sequence(context(0, keyId(publicKey), false))),
    ],
  });
}

/** A certificate for one host name or address. */
export function hostCertificate(
  host: string,
  publicKey: KeyObject,
  authority: { readonly name: string; readonly privateKey: KeyObject },
): string {
  return certificate({
    subject: host,
    issuer: authority.name,
    publicKey,
    signingKey: authority.privateKey,
    days: leafDays,
    extensions: [
      extension('2.5.29.15', bits(Buffer.from([0b1000_0000]), 7), true),
      extension('2.5.29.37', sequence(identifier('1.3.6.1.5.5.7.3.1'))),
      extension('2.5.29.17', sequence(alternativeName(host))),
      extension('2.5.29.14', octets(keyId(publicKey))),
      extension('2.5.29.35', sequence(context(0, keyId(createPublicKey(authority.privateKey)), false))),
    ],
  });
}

function certificate({ subject, issuer, publicKey, signingKey, days, extensions }: Certified): string {
  const now = Date.now();
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const body = sequence(
    context(0, integer(Buffer.from([2]))),
    integer(serial),
    ecdsaWithSha256,
    nameOf(issuer),
    sequence(time(now - beforeMs), time(now + days * dayMs)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    context(3, sequence(...extensions)),
  );
  const whole = sequence(body, ecdsaWithSha256, bits(sign('sha256', body, signingKey)));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function nameOf(text: string): Buffer {
  return sequence(setOf(sequence(identifier('2.5.4.3'), utf8(text.slice(0, longestName)))));
}

function extension(oid: string, value: Buffer, isCritical = false): Buffer {
  return sequence(identifier(oid), ...(isCritical ? [boolean(true)] : []), octets(value));
}

function keyId(publicKey: KeyObject): Buffer {
  return createHash('sha1')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest();
}

function alternativeName(host: string): Buffer {
  return isIP(host) === 0
    ? context(2, Buffer.from(host, 'latin1'), false)
    : context(7, addressBytes(host), false);
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = address.split('::', 2);
  const groups = (text: string) =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const last = tail === undefined ? [] : groups(tail);
  const first = groups(head);
  const all = [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
  return Buffer.from(all.flatMap((group) => [group >>> 8, group & 0xff]));
}
