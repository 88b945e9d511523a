import { reasonOf } from '../base/errors.ts';
import type { Binding } from '../egress/bindings/bindings.ts';
import type { HostBinding } from '../egress/bindings/host-binding.ts';
import type { EgressOwner, EgressPolicy } from '../seams/egress.ts';
import { signatureOf } from './signature.ts';
import { webhookAddress } from './webhook-address.ts';
import type { DueDelivery } from './webhook-table.ts';

/** The way out of the host: adds the signature, refuses private addresses and records each call. */
export type Bind = (owner: EgressOwner, binding: Binding) => HostBinding;

export interface CallOptions {
  readonly bind: Bind;
  readonly allowed: EgressPolicy;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface CallResult {
  readonly status: number | null;
  /** Null: the server accepted the call. */
  readonly error: string | null;
}

const longestError = 300;
const mostAnswerBytes = 16 * 1024;

/** The user's secret that signs the calls of a webhook. */
export function secretNameOf(name: string): string {
  return `webhook-${name}`;
}

export function deliveryId({ user, name, seq }: Pick<DueDelivery, 'user' | 'name' | 'seq'>): string {
  return `evt-${seq}-${Buffer.from(`${user}/${name}`).toString('base64url').slice(0, 24)}`;
}

/** One attempt. Never throws. Any answer from 200 to 299 accepts the call; redirects are not followed. */
export async function callWebhook(due: DueDelivery, options: CallOptions): Promise<CallResult> {
  const { timeoutMs } = options;
  const late = AbortSignal.timeout(timeoutMs);
  try {
    return await send(due, { ...options, signal: AbortSignal.any([options.signal, late]) });
  } catch (error) {
    if (late.aborted) return { status: null, error: `no answer within ${timeoutMs / 1000} s` };
    return { status: null, error: reasonOf(error).slice(0, longestError) };
  }
}

async function send(due: DueDelivery, { bind, allowed, signal }: CallOptions): Promise<CallResult> {
  const { url, isPrivate } = webhookAddress(due.url, allowed);
  const id = deliveryId(due);
  const timestamp = Math.floor(Date.now() / 1000);
  const secret = secretNameOf(due.name);
  using way = bind(
    { user: due.user, sandboxId: secret },
    {
      name: secret,
      upstream: url,
      isOwnUpstream: isPrivate,
      secret,
      // The secret stays in the way out, which hands it to this function alone.
      header: (value) => ['webhook-signature', signatureOf(value, id, timestamp, due.body)],
      only: { methods: ['POST'] },
      inspect: false,
      metered: false,
      variables: () => ({}),
    },
  );
  const response = await way.fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(due.body)),
      'user-agent': 'Geode-Webhooks',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
    },
    body: due.body,
    signal,
  });
  const { status } = response;
  if (status >= 200 && status < 300) {
    await response.body?.cancel();
    return { status, error: null };
  }
  const why = await ownRefusal(response);
  return why === undefined
    ? { status, error: `the server answered ${status}` }
    : { status: null, error: why.slice(0, longestError) };
}

/** The way out answers by itself when it refuses a call or reaches no server. Other answers are not read. */
async function ownRefusal(response: Response): Promise<string | undefined> {
  const length = Number(response.headers.get('content-length') ?? Number.NaN);
  if (!(length <= mostAnswerBytes) || ![400, 402, 403, 404, 502, 503].includes(response.status)) {
    await response.body?.cancel();
    return undefined;
  }
  const said = /"message":"Geode: ((?:[^"\\]|\\.)*)"/.exec(await response.text())?.[1];
  return said === undefined ? undefined : (JSON.parse(`"${said}"`) as string);
}
