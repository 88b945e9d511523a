import { inject } from 'vitest';
import { runtimeContract } from '../contracts/runtime.ts';
import { openPersistentHarness } from './as-runtime.ts';

const { bubblewrap, docker } = inject('engines');

runtimeContract({
  name: 'bubblewrap, as sandboxes that stay',
  unavailable: bubblewrap.available ? undefined : bubblewrap.reason,
  open: () => openPersistentHarness('bubblewrap'),
});

runtimeContract({
  name: 'docker, as sandboxes that stay',
  unavailable: docker.available ? undefined : docker.reason,
  open: () => openPersistentHarness('docker', docker.available ? { dockerSocket: docker.socket } : {}),
});
