/** How the client reaches a host. This file needs nothing but what every browser has. */

import type { Cancel } from '../base/cancel.ts';
import { keyProtocol, socketProtocol } from '../contract/frames.ts';

export interface Target {
  /** Such as `http://127.0.0.1:4430`; a path in it comes before every path, for a host behind a proxy. */
  readonly url: string;
  /** Not needed where the server's auth is off. */
  readonly key?: string | undefined;
}

export interface Transport {
  /** For messages: where requests go. */
  readonly name: string;
  fetch(path: string, init: RequestInit): Promise<Answer>;
  /**
   * A WebSocket whose binary messages are `ArrayBuffer`s or bytes. One that is open already has heard nothing yet. The
   * signal ends the wait for the other end's agreement, where it is waited for.
   */
  connect(
    path: string,
    headers: Readonly<Record<string, string>>,
    options?: Cancel,
  ): ClientSocket | Promise<ClientSocket>;
}

/** The part of `Response` that the client uses. */
export interface Answer extends Pick<Response, 'ok' | 'status' | 'text' | 'arrayBuffer'> {
  /** Read once, and not beside the other ways to read it. */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
}

/** The part of `WebSocket` that the client uses. */
export interface ClientSocket {
  /** 1 when it is open. */
  readonly readyState: number;
  readonly bufferedAmount: number;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(): void;
  /** Where they are there, a reader that is slow holds the sender up. */
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
    // A page can give a WebSocket no header, so the key travels as one of the protocols that it offers.
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
