import { type Duplex, duplexPair } from 'node:stream';

/** Two ends of a connection within this process. As with a socket, closing one end closes the other. */
export function linkedPair(): readonly [Duplex, Duplex] {
  const [one, other] = duplexPair();
  one.once('close', () => other.destroy());
  other.once('close', () => one.destroy());
  return [one, other];
}
