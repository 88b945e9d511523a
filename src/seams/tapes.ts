/**
 * Recordings of the HTTP calls that a sandbox makes through its hatch: through bindings, such as calls to a model, and
 * through the proxy without TLS. A tape records them, or plays them to a copy of the sandbox in place of the server.
 */

/** Bindings of a copy lead to this host, which no name server knows: only a tape answers there. */
export const recordedHost = 'recorded.invalid';

export interface CallHead {
  /** The binding and the path of its upstream; null: through the proxy. */
  readonly binding: { readonly name: string; readonly base: string } | null;
  readonly method: string;
  /** Through the proxy: the whole URL. */
  readonly path: string;
  /** The model that the request names, if it is near its beginning. */
  readonly model: string | null;
}

/** A call and its answer as the sandbox received it: without credentials. */
export interface TapedCall extends CallHead {
  readonly status: number;
  readonly reason: string;
  /** Names and values in turn. */
  readonly fields: readonly string[];
  readonly body: Buffer;
}

export interface Tape {
  /** Receives each finished call; null: a call whose answer is not whole or too large. Never throws. */
  readonly record?: (call: TapedCall | null) => void;
  /** Receives each target that was reached in another way, which cannot be recorded. */
  readonly missed?: (target: string) => void;
  /** The next recorded answer for such a call; undefined: there is none. */
  readonly answer?: (call: CallHead) => TapedCall | undefined;
}

/** The tapes of persistent sandboxes that run now, by user and chat. */
export interface Tapes {
  /** Disposing of the result removes the tape. */
  insert(user: string, chat: string, tape: Tape): Disposable;
  of(user: string, chat: string): Tape | undefined;
}
