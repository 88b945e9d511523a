/** A platform refused a call: by an HTTP status, or by something that means the same. */
export class PlatformError extends Error {
  readonly status: number;
  /** How long the platform asks to wait; undefined where it does not say. */
  readonly retryAfterMs: number | undefined;
  /** The platform's own number for it. */
  readonly code: number | undefined;

  constructor(message: string, status: number, retryAfterMs?: number, code?: number) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.code = code;
  }
}
