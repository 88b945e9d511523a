import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DisposalQueue } from '../../src/pool/disposal-queue.ts';
import { IdleGate } from '../../src/pool/idle-gate.ts';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import { openRuns, type RunsHarness } from '../runs/harness.ts';

describe('RUN-8: the end of used sandboxes', () => {
  let harness: RunsHarness;
  beforeEach(async () => {
    harness = await openRuns(nativeRuntime);
  });
  afterEach(() => harness.close());
  const opened = () => Promise.all([1, 2, 3].map(() => harness.runtime.open({})));
  const left = async () => (await harness.runtime.list()).map(({ id }) => id);

  it('waits while a run uses the processor, up to the maximum number of waiting sandboxes', async () => {
    let busy = true;
    const disposals = new DisposalQueue({ busy: () => busy, mostWaiting: 2 });
    const sandboxes = await opened();
    const ends = sandboxes.map((sandbox) => disposals.end(sandbox, 'soon'));
    await ends[0];
    expect((await left()).sort()).toEqual(
      sandboxes
        .slice(1)
        .map(({ id }) => id)
        .sort(),
    );
    expect(disposals.size).toBe(2);
    busy = false;
    disposals.proceed();
    await disposals.done();
    expect(await left()).toEqual([]);
    expect(disposals.size).toBe(0);
  });

  it('ends a sandbox at once when asked to end it now', async () => {
    const disposals = new DisposalQueue({ busy: () => true, mostWaiting: 9 });
    const sandboxes = await opened();
    for (const sandbox of sandboxes) void disposals.end(sandbox, 'soon');
    expect(await left()).toHaveLength(3);
    for (const sandbox of sandboxes) {
      await disposals.end(sandbox, 'now');
      expect(await left()).not.toContain(sandbox.id);
    }
  });
});

describe('RUN-8: a idleGate', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('opens when the last disturbance ends', () => {
    const come = vi.fn();
    const idleGate = new IdleGate(come);
    expect(idleGate.isWorthWaitingFor).toBe(false);
    const [first, second] = [idleGate.disturb(), idleGate.disturb()];
    expect(idleGate.isWorthWaitingFor).toBe(true);
    first();
    first();
    expect(come).not.toHaveBeenCalled();
    second();
    expect(come).toHaveBeenCalledOnce();
    expect(idleGate.isWorthWaitingFor).toBe(false);
  });

  it('stops waiting for idleness after a limit', () => {
    const come = vi.fn();
    const idleGate = new IdleGate(come);
    idleGate.disturb();
    vi.advanceTimersByTime(60_000);
    expect(come).toHaveBeenCalledOnce();
    expect(idleGate.isWorthWaitingFor).toBe(false);
  });
});
