import { WebSocket } from 'ws';
import { onAbort } from '../../base/cancel.ts';
import { parsedJson } from '../../base/json.ts';
import type { Log } from '../../base/log.ts';

export interface SocketEnd {
  readonly code: number;
  readonly reason: string;
}

export interface FollowedSocket {
  send(frame: object): void;
  /** `code` shows the platform whether the client will return. */
  close(code: number): void;
}

export interface FollowSocketOptions {
  readonly url: string;
  /** Processes one frame at a time, in order. An error ends the connection. */
  readonly frame: (socket: FollowedSocket, frame: unknown) => Promise<void>;
  /** Interval of pings; left out where the platform has its own. */
  readonly pingEveryMs?: number;
  /** Close code for a connection that is not needed any longer. */
  readonly leaveCode: number;
  readonly log: Log;
}

const handshakeMs = 20_000;
const mostFrameBytes = 16 * 1024 ** 2;

/** Opens a WebSocket and passes each frame to its reader until the connection ends. */
export async function followSocket(options: FollowSocketOptions, signal: AbortSignal): Promise<SocketEnd> {
  const { url, log, leaveCode } = options;
  signal.throwIfAborted();
  const socket = new WebSocket(url, { handshakeTimeout: handshakeMs, maxPayload: mostFrameBytes });
  const ended = Promise.withResolvers<SocketEnd>();
  let reading: Promise<void> = Promise.resolve();
  const own: FollowedSocket = {
    send: (frame) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
    },
    close: (code) => socket.close(code),
  };
  const leave = () => {
    socket.close(leaveCode);
    // Do not wait for a platform that does not answer the close.
    setTimeout(() => socket.terminate(), 2_000).unref();
  };
  socket.on('message', (data) => {
    const frame = parsedJson(String(data));
    if (frame === undefined) return log.warn('Skipped a frame of the platform that is not JSON');
    reading = reading.then(() => options.frame(own, frame));
    reading.catch((error) => {
      ended.reject(error);
      socket.terminate();
    });
  });
  socket.on('error', (error) => ended.reject(error));
  socket.on('close', (code, reason) => ended.resolve({ code, reason: String(reason) }));
  using _leaving = onAbort(signal, leave);
  using _watching = watch(socket, options.pingEveryMs);
  try {
    const end = await ended.promise;
    await reading;
    return end;
  } finally {
    socket.terminate();
  }
}

/** Ends a connection whose other side has disappeared. */
function watch(socket: WebSocket, everyMs: number | undefined): Disposable {
  if (everyMs === undefined) return { [Symbol.dispose]() {} };
  let isThere = true;
  socket.on('pong', () => {
    isThere = true;
  });
  const timer = setInterval(() => {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (!isThere) return socket.terminate();
    isThere = false;
    socket.ping();
  }, everyMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
