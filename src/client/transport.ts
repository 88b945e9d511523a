/** How the client connects to a host. This file only needs what every browser has. */

import type { Cancel } from '../base/cancel.ts';
import { keyProtocol, socketProtocol } from '../contract/frames.ts';

export interface Target {
  /** Such as `http://127.0.0.1:4430`. A path in it is a prefix, for a host behind a proxy. */
  readonly url: string;
  /** Not needed where the server's auth is off. */
  readonly key?: string | undefined;
}

export interface Transport {
  /** For error messages: the address that requests are sent to. */
  readonly name: string;
  fetch(path: string, init: RequestInit): Promise<HttpAnswer>;
  /**
   * A WebSocket whose binary messages are `ArrayBuffer`s or bytes. An open one has received nothing yet. The signal
   * ends the wait for the handshake, if there is one.
   */
  connect(
    path: string,
    headers: Readonly<Record<string, string>>,
    options?: Cancel,
  ): ClientSocket | Promise<ClientSocket>;
}

/** The part of `Response` that the client uses. */
export interface HttpAnswer extends Pick<Response, 'ok' | 'status' | 'text' | 'arrayBuffer'> {
  /** Read it once, and not together with the other reading methods. */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
}

/** The part of `WebSocket` that the client uses. */
export interface ClientSocket {
  /** 1 when it is open. */
  readonly readyState: number;
  readonly bufferedAmount: number;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(): void;
  /** If present, a slow reader slows the sender down. */
  pause?(): void;
  resume?(): void;
  addEventListener(type: 'open' | 'error', listener: () => void): void;
  addEventListener(type: 'close', listener: (event: { readonly code: number }) => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
}

export function httpTransport({ url, key }: Target): Transport {
  const base = new URL(url);
  const at = (path: string) => new URL(base.pathname.replace(/\/$/, '') + path, base);
  return {
    name: base.origin,
    fetch(path, init) {
      const headers = new Headers(init.headers);
      if (key !== undefined) headers.set('authorization', `Bearer ${key}`);
      return fetch(at(path), { ...init, headers });
    },
    // A page cannot set headers for a WebSocket, so the key is sent as one of the offered protocols.
    connect(path) {
      const address = at(path);
      address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
      const offered = key === undefined ? [socketProtocol] : [socketProtocol, keyProtocol + key];
      const socket = new WebSocket(address, offered);
      socket.binaryType = 'arraybuffer';
      return socket;
    },
  };
}
