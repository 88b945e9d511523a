import { type Duplex, duplexPair } from 'node:stream';

/** Two ends of a connection within this process. As with a socket, the end of one is the end of the other. */
export function linkedPair(): readonly [Duplex, Duplex] {
  const [one, other] = duplexPair();
  one.once('close', () => other.destroy());
  other.once('close', () => one.destroy());
  return [one, other];
}
