/** A platform refused a call, by an HTTP status or an equivalent. */
export class PlatformError extends Error {
  readonly status: number;
  /** The pause that the platform asks for; undefined if it names none. */
  readonly retryAfterMs: number | undefined;
  /** The platform's own error number. */
  readonly code: number | undefined;

  constructor(message: string, status: number, retryAfterMs?: number, code?: number) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.code = code;
  }
}
