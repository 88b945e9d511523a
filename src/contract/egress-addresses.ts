import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Address ranges outside the public internet, with the word for a refusal. */
const privateRanges: readonly (readonly [word: string, network: string, prefix: number])[] = [
  ['unspecified', '0.0.0.0', 8],
  ['private', '10.0.0.0', 8],
  ['carrier', '100.64.0.0', 10],
  ['loopback', '127.0.0.0', 8],
  ['link-local', '169.254.0.0', 16],
  ['private', '172.16.0.0', 12],
  ['reserved', '192.0.0.0', 24],
  ['documentation', '192.0.2.0', 24],
  ['reserved', '192.88.99.0', 24],
  ['private', '192.168.0.0', 16],
  ['benchmark', '198.18.0.0', 15],
  ['documentation', '198.51.100.0', 24],
  ['documentation', '203.0.113.0', 24],
  ['multicast', '224.0.0.0', 4],
  ['reserved', '240.0.0.0', 4],
  // Alibaba's metadata service has an address that looks public.
  ['metadata', '100.100.100.200', 32],
  ['metadata', '168.63.129.16', 32],
];

/** Only 2000::/3 of IPv6 is public, except addresses that contain an IPv4 address or lead through a tunnel. */
const closedInside2000: readonly (readonly [word: string, network: string, prefix: number])[] = [
  ['Teredo', '2001::', 32],
  ['reserved', '2001:2::', 48],
  ['ORCHID', '2001:10::', 28],
  ['ORCHID', '2001:20::', 28],
  ['documentation', '2001:db8::', 32],
  ['6to4', '2002::', 16],
  ['documentation', '3fff::', 20],
];

const closed4 = privateRanges.map((range) => [range[0], listOf(range, 'ipv4')] as const);
const closed6 = closedInside2000.map((range) => [range[0], listOf(range, 'ipv6')] as const);
const public6 = new BlockList();
public6.addSubnet('2000::', 3, 'ipv6');
const namedOutside: readonly (readonly [string, BlockList])[] = (
  [
    ['loopback', '::1', 128],
    ['v4-mapped', '::ffff:0:0', 96],
    ['NAT64', '64:ff9b::', 96],
    ['NAT64', '64:ff9b:1::', 48],
    ['private', 'fc00::', 7],
    ['link-local', 'fe80::', 10],
    ['multicast', 'ff00::', 8],
  ] as const
).map((range) => [range[0], listOf(range, 'ipv6')] as const);

/** The reason, in one word, why an address is not public; undefined for a public address. Text that is not an address is never public. */
export function closedRangeOf(
  address: string,
  own: ReadonlySet<string> = ownAddresses(),
): string | undefined {
  const family = isIP(address);
  const range = family === 4 ? rangeOf4(address) : family === 6 ? rangeOf6(address) : 'unreadable';
  return range ?? (own.has(address) ? "this machine's" : undefined);
}

function rangeOf4(address: string): string | undefined {
  return closed4.find(([, list]) => list.check(address, 'ipv4'))?.[0];
}

function rangeOf6(address: string): string | undefined {
  const isInside = public6.check(address, 'ipv6');
  const range = (isInside ? closed6 : namedOutside).find(([, list]) => list.check(address, 'ipv6'))?.[0];
  return range ?? (isInside ? undefined : 'not public');
}

/**
 * A public address of this machine is as reachable as its loopback, so it counts as private. Read each time, because
 * addresses change.
 */
function ownAddresses(): ReadonlySet<string> {
  return new Set(
    Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address)),
  );
}

function listOf([, network, prefix]: readonly [string, string, number], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  list.addSubnet(network, prefix, family);
  return list;
}
