import { inject } from 'vitest';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { openHarness } from '../contracts/harness.ts';
import { runtimeContract } from '../contracts/runtime.ts';

const { bubblewrap } = inject('engines');

runtimeContract({
  name: 'bubblewrap',
  unavailable: bubblewrap.available ? undefined : bubblewrap.reason,
  open: () => openHarness(bubblewrapRuntime),
});
