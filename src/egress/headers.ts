/** Belong to one connection, not to the message. */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

type Pairs = readonly (readonly [name: string, value: string])[];

/** Node gives names and values in turn. */
export function pairsOf(raw: readonly string[]): Pairs {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as const] : []));
}

/** The headers of the message itself, without those that the connection's own header names. */
export function endToEnd(raw: readonly string[], without: readonly string[] = []): string[] {
  const pairs = pairsOf(raw);
  const named = pairs
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(',').map((word) => word.trim().toLowerCase()));
  const dropped = new Set([...hopByHop, ...named, ...without]);
  return pairs.filter(([name]) => !dropped.has(name.toLowerCase())).flat();
}
