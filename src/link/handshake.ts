import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ClientHttp2Session } from 'node:http2';
import { z } from 'zod';
import { GeodeError } from '../base/errors.ts';
import { requestJson } from './request.ts';

const protocolVersion = 1;
const deadlineMs = 5_000;
const hex64 = z.string().regex(/^[0-9a-f]{64}$/);

/** The first claim binds this object to a guest; later claims prove it. */
export interface GuestClaim {
  readonly secret: string;
  /** The secret of the sandbox whose memory this guest was restored from. It gets the new one in its place. */
  readonly formerSecret?: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly leaseMs: number;
}

const helloSchema = z.object({
  protocol: z.number(),
  version: z.string().max(64),
  boot: z.string().max(64),
  claimed: z.boolean(),
  challenge: hex64,
  proof: z.string().max(64),
});

export function newSecret(): string {
  return randomBytes(32).toString('hex');
}

/**
 * Authenticates a fresh connection. The first one gives the guest its secret before anything else runs in the
 * sandbox. On every later one both sides prove that they know the secret.
 */
export async function shakeHands(
  session: ClientHttp2Session,
  claim: GuestClaim,
  fresh: boolean,
): Promise<void> {
  const nonce = newSecret();
  const hello = await requestJson(session, {
    method: 'POST',
    path: '/v1/hello',
    body: { protocol: [protocolVersion], nonce },
    schema: helloSchema,
    deadlineMs,
  });
  if (hello.protocol !== protocolVersion) {
    throw new GeodeError(
      'guest_version',
      `The guest uses protocol ${hello.protocol}, this host uses ${protocolVersion}.`,
    );
  }
  // Once untrusted code runs inside, only a peer that proves to know the secret is the guest. The secret is never
  // sent to another.
  const knows = (secret: string | undefined) =>
    secret !== undefined && isProof(hello.proof, secret, `guest${nonce}`);
  const proven = knows(claim.secret);
  const isFormer = !proven && knows(claim.formerSecret);
  if (hello.claimed ? !proven && !isFormer : !fresh) {
    throw new GeodeError(
      'guest_protocol',
      'A program in the sandbox pretended to be its guest and was refused.',
    );
  }
  const { secret, formerSecret = '', leaseMs, env, workdir } = claim;
  const proof = hello.claimed ? hmac(isFormer ? formerSecret : secret, `host${hello.challenge}`) : '';
  const body = {
    proof,
    leaseMs,
    ...(hello.claimed ? {} : { env, workdir }),
    ...(hello.claimed && !isFormer ? {} : { secret }),
  };
  await requestJson(session, { method: 'POST', path: '/v1/claim', body, schema: z.unknown(), deadlineMs });
}

function hmac(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex');
}

function isProof(given: string, secret: string, text: string): boolean {
  const wanted = Buffer.from(hmac(secret, text));
  const actual = Buffer.from(given);
  return wanted.length === actual.length && timingSafeEqual(wanted, actual);
}
