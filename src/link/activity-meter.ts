import type { Activity } from '../seams/sandbox.ts';

/** Counts activity, and when the last one ended. */
export class ActivityMeter implements Activity {
  open = 0;
  endedAt = Date.now();

  /** Starts an activity; call the result when it ends. */
  begin(): () => void {
    this.open += 1;
    return () => {
      this.open -= 1;
      this.endedAt = Date.now();
    };
  }
}
