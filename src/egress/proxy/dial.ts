import { connect, type Socket } from 'node:net';

const deadlineMs = 15_000;

/** Connects to the first address that answers. The addresses were checked; nothing is resolved here. */
export async function dial(addresses: readonly string[], port: number): Promise<Socket> {
  let failure: unknown;
  for (const address of addresses) {
    try {
      return await dialOne(address, port);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

function dialOne(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true, allowHalfOpen: true });
    const late = setTimeout(
      () => socket.destroy(new Error(`no answer within ${deadlineMs / 1000} s`)),
      deadlineMs,
    );
    socket.once('error', reject);
    socket.once('connect', () => {
      clearTimeout(late);
      socket.off('error', reject);
      // Later errors end the connection, which both sides see.
      socket.on('error', () => {});
      resolve(socket);
    });
    socket.once('close', () => clearTimeout(late));
  });
}
