import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import { diskContract } from './disk.ts';
import { execContract } from './exec.ts';
import { filesContract } from './files.ts';
import type { Harness } from './harness.ts';
import { lifecycleContract } from './lifecycle.ts';
import { metricsContract } from './metrics.ts';
import { pauseContract } from './pause.ts';
import { wallsContract } from './walls.ts';

export interface RuntimeSuite {
  readonly name: string;
  /** Promises that the whole suite proves, in addition to those of every runtime. */
  readonly proves?: string;
  /** The reason why this machine cannot run it. The suite's name shows it. */
  readonly unavailable?: string | undefined;
  readonly open: () => Promise<Harness>;
}

/** RT-2: what every runtime must do, the same for all. What one cannot promise is in its capabilities. */
export function runtimeContract({ name, proves = '', unavailable, open }: RuntimeSuite): void {
  const title =
    unavailable === undefined
      ? `RT-1 RT-2 ${proves} runtime ${name}`.replace('  ', ' ')
      : `runtime ${name} (skipped: ${unavailable})`;
  describe.skipIf(unavailable !== undefined)(title, () => {
    let opened: Harness | undefined;
    const harness = (): Harness => {
      if (opened === undefined) throw new Error('the harness is not open');
      return opened;
    };
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(async () => {
      await opened?.close();
    });
    let cleanUp = async () => {};
    beforeEach(() => {
      cleanUp = harness().mark();
    });
    // A try that failed leaves nothing for the next one, and for the tests after it.
    afterEach(async ({ task }) => {
      if (task.result?.state === 'fail') await cleanUp();
    });
    execContract(harness);
    filesContract(harness);
    lifecycleContract(harness);
    diskContract(harness);
    metricsContract(harness);
    pauseContract(harness);
    wallsContract(harness);
  });
}
