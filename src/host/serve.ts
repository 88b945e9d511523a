/** The doors of a host: its private socket, where the caller is the local user, and a TCP port, where a key says who calls. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiParts } from '../api/environment.ts';
import { createApiServer } from '../api/server.ts';
import type { RoomPlaces } from '../runtimes/rooms.ts';
import { apiSocketIn, listenAt } from './host-socket.ts';

/** On the socket a limit would only hold up the person whose machine it is. */
const unlimited = { perMinute: 1e9, burst: 1e9 };

export interface SocketServer extends AsyncDisposable {
  readonly path: string;
  /** For how long nobody has been connected, and no server in a sandbox was shown. */
  readonly idleMs: number;
  /** Takes no new caller; those that are here finish. */
  leave(): void;
}

/** For the holder of the lock of the state folder: a socket that is there already was left by a host that died. */
export async function serveOnSocket(parts: ApiParts, places: RoomPlaces): Promise<SocketServer> {
  const path = apiSocketIn(places);
  const { server, stop } = createApiServer(parts, {
    callers: 'socket',
    rate: unlimited,
    failureRate: unlimited,
  });
  const visitors = visitorsOf(server);
  await listenAt(path, server);
  return {
    path,
    get idleMs() {
      // A preview is there for whoever has its URL.
      return parts.previews?.isShowing ? 0 : visitors.idleMs();
    },
    leave: () => void stop(),
    [Symbol.asyncDispose]: stop,
  };
}

function visitorsOf(server: Server): { idleMs(): number } {
  const here = new Set<Socket>();
  let idleSince = performance.now();
  server.on('connection', (socket: Socket) => {
    here.add(socket);
    socket.once('close', () => {
      here.delete(socket);
      idleSince = performance.now();
    });
  });
  return { idleMs: () => (here.size > 0 ? 0 : performance.now() - idleSince) };
}
