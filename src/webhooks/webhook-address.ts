import { isIP } from 'node:net';
import { GeodeError } from '../base/errors.ts';
import { closedRangeOf } from '../contract/egress-addresses.ts';
import { hostOf } from '../contract/host-name.ts';
import { lossOf } from '../egress/bindings/binding-request.ts';
import { decide } from '../egress/policy/policy.ts';
import type { EgressPolicy } from '../seams/egress.ts';

export interface WebhookAddress {
  readonly url: URL;
  /** The operator allows this private address. */
  readonly isPrivate: boolean;
}

/** Throws for an address that may not be called. A name is checked again when it is resolved, at each call. */
export function webhookAddress(text: string, allowed: EgressPolicy): WebhookAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw refused(text, 'it is not a URL', 'Use https:// with a host and a path.');
  if (url.username !== '' || url.password !== '' || url.hash !== '')
    throw refused(text, 'it has a user, a password or a fragment', 'Leave them out: each call is signed.');
  // The way out removes parameters that hold credentials, and refuses what servers may read as another request.
  const loss = lossOf(url);
  if (loss !== undefined) throw refused(text, loss, 'Put tokens into the path, in letters and digits.');
  const host = hostOf(url.hostname) ?? url.hostname;
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  const http = { method: 'POST', path: url.pathname + url.search };
  const decision = decide(allowed, { host, port, http });
  if (!decision.allowed) throw refused(text, decision.reason, 'Use another address.');
  const isPrivate = decision.private;
  const closed = isIP(host) === 0 ? undefined : closedRangeOf(host);
  const isLocal = closed !== undefined || host === 'localhost' || host.endsWith('.localhost');
  if (isLocal && !isPrivate)
    throw refused(
      text,
      `${host} is not public (${closed ?? 'loopback'})`,
      `The operator of this host can allow it: webhooks.private: ["${host}:${port}"] in the config.`,
    );
  return { url, isPrivate };
}

function refused(text: string, reason: string, hint: string): GeodeError {
  const shown = JSON.stringify(text.slice(0, 200));
  return new GeodeError('invalid_input', `${shown} cannot be a webhook: ${reason}.`, { hint });
}
