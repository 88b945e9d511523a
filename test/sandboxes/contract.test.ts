import { inject } from 'vitest';
import { runtimeContract } from '../contracts/runtime.ts';
import { openPersistentHarness } from './as-runtime.ts';

const { bubblewrap } = inject('engines');

/** One runtime is enough: its own suite shows what each does, and test/sandboxes/registry.test.ts what stays on each. */
runtimeContract({
  name: 'bubblewrap, as sandboxes that stay',
  unavailable: bubblewrap.available ? undefined : bubblewrap.reason,
  open: () => openPersistentHarness('bubblewrap'),
});
