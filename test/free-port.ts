import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Above the ports that programs are known by, and below those of Linux for connections and for servers on port 0. */
const lowest = 10_240;
const highest = 32_000;

/**
 * A port of loopback for a server that cannot choose one itself, or that is started again on the same. The kernel gives
 * it to nobody else, so that it stays free until the server listens.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, highest);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
