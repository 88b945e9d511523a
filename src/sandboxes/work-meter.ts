/** Share of one CPU above which a sandbox works. gVisor itself uses less while everything inside waits. */
const busyShare = 0.05;

interface Look {
  readonly cpuMs: number;
  readonly at: number;
}

/** When a sandbox last used the CPU, by the sweep's looks at its counter. */
export class WorkMeter {
  #before: Look | undefined;
  /** The first look counts as work: nothing is known of the time before it. */
  workedAt = Date.now();

  look(now: Look): void {
    const before = this.#before;
    this.#before = now;
    if (before === undefined || now.cpuMs - before.cpuMs > (now.at - before.at) * busyShare)
      this.workedAt = now.at;
  }
}
