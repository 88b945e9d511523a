import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { within } from '../../base/cancel.ts';
import { reasonOf } from '../../base/errors.ts';
import { closedRangeOf } from '../../contract/egress-addresses.ts';
import type { Decision } from '../policy/policy.ts';

const deadlineMs = 10_000;

/** All addresses of a name. The sandbox has no resolver: the host resolves names, again for each connection. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export const systemResolve: Resolve = async (host) => {
  const answers = await within({ ms: deadlineMs, what: `Resolving ${host}` }, () =>
    lookup(host, { all: true, verbatim: true }),
  );
  return answers.map(({ address }) => address);
};

export type Pinned =
  | { readonly addresses: readonly string[] }
  | { readonly closed: string; readonly address: string }
  | { readonly failed: string };

/**
 * The addresses that may be dialled for a host: all current ones, or none if one of them is not public. Only checked
 * addresses are dialled, so a second lookup cannot differ.
 */
export async function pin(
  host: string,
  { private: mayBePrivate }: Extract<Decision, { allowed: true }>,
  resolve: Resolve,
): Promise<Pinned> {
  let addresses: readonly string[];
  try {
    addresses = isIP(host) === 0 ? await resolve(host) : [host];
  } catch (error) {
    return { failed: `${host} cannot be resolved: ${reasonOf(error)}` };
  }
  if (addresses.length === 0) return { failed: `${host} has no address` };
  for (const address of addresses) {
    const closed = closedRangeOf(address);
    if (closed !== undefined && !mayBePrivate) return { closed, address };
  }
  return { addresses };
}
