import { inject } from 'vitest';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import { openHarness } from '../contracts/harness.ts';
import { runtimeContract } from '../contracts/runtime.ts';

const { docker } = inject('engines');

runtimeContract({
  name: 'GL-4 docker over a socket',
  unavailable: docker.available ? undefined : docker.reason,
  open: () =>
    openHarness((options) => dockerRuntime(options, options.docker), {
      dockerLink: 'socket',
      ...(docker.available ? { dockerSocket: docker.socket } : {}),
    }),
});
