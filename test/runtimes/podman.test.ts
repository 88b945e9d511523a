import { inject } from 'vitest';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import { openHarness } from '../contracts/harness.ts';
import { runtimeContract } from '../contracts/runtime.ts';

const { podman } = inject('engines');

runtimeContract({
  name: 'GL-4 docker on Podman',
  unavailable: podman.available ? undefined : podman.reason,
  open: () =>
    openHarness(
      (options) => dockerRuntime(options, options.docker),
      podman.available ? { dockerSocket: podman.socket } : {},
    ),
});
