import { inject } from 'vitest';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import { openHarness } from '../contracts/harness.ts';
import { runtimeContract } from '../contracts/runtime.ts';

const { docker } = inject('engines');

// GL-4: what a remote engine gets: nothing of the host is mounted, everything goes through exec's stdio.
runtimeContract({
  name: 'GL-4 docker over stdio',
  unavailable: docker.available ? undefined : docker.reason,
  open: () =>
    openHarness((options) => dockerRuntime(options, options.docker), {
      dockerLink: 'stdio',
      ...(docker.available ? { dockerSocket: docker.socket } : {}),
    }),
});
