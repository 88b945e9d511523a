import { type ClientHttp2Session, connect } from 'node:http2';
import type { Duplex } from 'node:stream';
import { linkLost } from './request.ts';

const streamWindowBytes = 1024 ** 2;
const sessionWindowBytes = 64 * 1024 ** 2;
const frameBytes = 256 * 1024;
const sessionMemoryMb = 256;

/** HTTP/2 over a connection to a guest. */
export function openSession(connection: Duplex): ClientHttp2Session {
  const session = connect('http://guest', {
    createConnection: () => connection,
    maxSessionMemory: sessionMemoryMb,
    settings: { enablePush: false, initialWindowSize: streamWindowBytes, maxFrameSize: frameBytes },
  });
  session.on('error', () => {});
  // A stream other than a socket may end before the session reads it.
  connection.once('close', () => session.destroy());
  session.once('connect', () => {
    if (!session.destroyed) session.setLocalWindowSize(sessionWindowBytes);
  });
  return session;
}

/** Disconnects a guest that does not answer a ping in time, unless this host itself was late. */
export function checkPulse(session: ClientHttp2Session, withinMs: number, isExcused: () => boolean): void {
  let isAnswered = false;
  const late = setTimeout(() => {
    // An answer that came while this process stood still is read before that.
    setImmediate(() => {
      if (!isAnswered && !isExcused()) session.destroy();
    });
  }, withinMs).unref();
  const sent =
    !session.destroyed &&
    session.ping(() => {
      isAnswered = true;
      clearTimeout(late);
    });
  if (!sent) clearTimeout(late);
}

/** The other end of the connection answers by itself; a session that ends counts as lost. */
export function pong(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    const lost = () => reject(linkLost());
    if (session.destroyed) return lost();
    // A session with too many open pings does not send this one.
    const sent = session.ping((error) => (error ? lost() : resolve()));
    if (!sent) lost();
  });
}
