import type { Cancel } from '../base/cancel.ts';

/** The figures of one host since it started, for Prometheus. They name no user, chat, host or text. */
export interface Measurements {
  /** `route` is the declared path, `other` for everything else. */
  countRequest(request: {
    readonly method: string;
    readonly route: string;
    readonly status: number;
    readonly seconds: number;
  }): void;
  /** In Prometheus's text format. A part that cannot be read is left out. */
  text(options?: Cancel): Promise<string>;
}
