/** The host's private socket, where the caller is the local user. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiParts } from '../api/environment.ts';
import { createApiServer } from '../api/server.ts';
import type { RoomPlaces } from '../runtimes/rooms.ts';
import { apiSocketIn, listenAt } from './host-socket.ts';

/** On the socket a limit would only slow down the owner of the machine. */
const unlimited = { perMinute: 1e9, burst: 1e9 };

export interface SocketServer extends AsyncDisposable {
  readonly path: string;
  /** How long there has been no connection and no preview in use. */
  readonly idleMs: number;
  /** Refuses every caller from now on and returns true; returns false while it is working for one. */
  leave(): boolean;
  /** True once it refuses callers. */
  readonly isLeaving: boolean;
}

export interface SocketOptions {
  /** Where to listen; default: where clients of these folders look. */
  readonly path?: string;
  /** A caller may ask this host to end for another one. */
  readonly yields?: boolean;
}

/** For the holder of the lock of the state folder: an existing socket was left by a dead host. */
export async function serveOnSocket(
  parts: ApiParts,
  places: RoomPlaces,
  { path = apiSocketIn(places), yields = false }: SocketOptions = {},
): Promise<SocketServer> {
  let isLeaving = false;
  const leave = () => {
    if (visitors.working() > 0) return false;
    isLeaving = true;
    void stop();
    return true;
  };
  const { server, stop } = createApiServer(
    { ...parts, ...(yields && { leave }) },
    { callers: 'socket', rate: unlimited, failureRate: unlimited },
  );
  const visitors = visitorsOf(server);
  await listenAt(path, server);
  return {
    path,
    get idleMs() {
      // An open preview keeps the host running for the holder of its URL.
      return parts.previews?.isShowing ? 0 : visitors.idleMs();
    },
    get isLeaving() {
      return isLeaving;
    },
    leave,
    [Symbol.asyncDispose]: stop,
  };
}

function visitorsOf(server: Server): { idleMs(): number; working(): number } {
  const here = new Set<Socket>();
  const working = new Set<object>();
  let idleSince = performance.now();
  server.on('connection', (socket: Socket) => {
    here.add(socket);
    socket.once('close', () => {
      here.delete(socket);
      idleSince = performance.now();
    });
  });
  server.on('request', (request, response) => {
    if (isGreeting(request.url)) return;
    working.add(request);
    response.once('close', () => working.delete(request));
  });
  server.on('upgrade', (request, socket) => {
    working.add(request);
    socket.once('close', () => working.delete(request));
  });
  return {
    idleMs: () => (here.size > 0 ? 0 : performance.now() - idleSince),
    working: () => working.size,
  };
}

/** Health checks and requests to leave do not keep the host running. */
function isGreeting(url: string | undefined): boolean {
  return url === '/health' || url === '/api/v1/host/leave';
}
