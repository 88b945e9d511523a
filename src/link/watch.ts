import type { ClientHttp2Session } from 'node:http2';
import { within } from '../base/cancel.ts';
import type { Pauses } from './pauses.ts';
import { checkPulse } from './session.ts';

const vitalEveryMs = 200;
const pausedVitalEveryMs = 2_000;
const vitalDeadlineMs = 3_000;

/** Asks the runtime about the room, to tell a dead sandbox from a slow one. */
export type Liveness =
  | { readonly alive: true; readonly paused?: boolean }
  | { readonly alive: false; readonly reason: string };

interface WatchOptions {
  readonly liveness: (signal: AbortSignal) => Promise<Liveness>;
  /** Interval and timeout of pings to the guest. */
  readonly pingEveryMs: number;
  readonly pauses: Pauses;
  readonly onEnd: (reason: string) => void;
}

/** Notices when a sandbox ends, and when somebody else pauses or resumes it. */
export class Watch {
  readonly #options: WatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #asking: Promise<void> | undefined;
  #over = false;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** With a live session it asks the guest; without one, and while paused, it asks the runtime. */
  keep(session: ClientHttp2Session | undefined): void {
    clearInterval(this.#timer);
    if (this.#over) return;
    const { pauses, pingEveryMs } = this.#options;
    if (session !== undefined && !pauses.paused) {
      this.#timer = setInterval(() => {
        if (pauses.held) return;
        const before = pauses.ms;
        checkPulse(session, pingEveryMs, () => pauses.ms !== before);
      }, pingEveryMs).unref();
      return;
    }
    const everyMs = pauses.paused ? pausedVitalEveryMs : vitalEveryMs;
    this.#timer = setInterval(() => void this.askVital(), everyMs);
    if (pauses.paused) this.#timer.unref();
  }

  /** One question at a time with a short timeout: an engine that does not answer says nothing about the sandbox. */
  askVital(): Promise<void> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<void> {
    const { liveness: ask, pauses, onEnd } = this.#options;
    const alive: Liveness = { alive: true };
    const isSteady = pauses.steady();
    const deadline = { ms: vitalDeadlineMs, what: 'Asking for the sandbox' };
    const liveness = await within(deadline, ask).catch(() => alive);
    if (!liveness.alive) onEnd(liveness.reason);
    else if (liveness.paused !== undefined && isSteady()) pauses.set(liveness.paused);
  }

  end(): void {
    this.#over = true;
    clearInterval(this.#timer);
  }
}
