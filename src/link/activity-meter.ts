import type { Activity } from '../seams/sandbox.ts';

/** Knows how much goes on, and since when nothing does. */
export class ActivityMeter implements Activity {
  open = 0;
  endedAt = Date.now();

  /** Something begins; the answer is to be called when it ends. */
  begin(): () => void {
    this.open += 1;
    return () => {
      this.open -= 1;
      this.endedAt = Date.now();
    };
  }
}
