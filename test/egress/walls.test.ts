import { inject } from 'vitest';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import { egressContract } from '../contracts/egress.ts';
import { openHarness, type World } from '../contracts/harness.ts';
import { openAppleStandIn } from '../runtimes/apple-stand-in.ts';

const { bubblewrap, docker, podman } = inject('engines');

egressContract({
  name: 'bubblewrap',
  unavailable: bubblewrap.available ? undefined : bubblewrap.reason,
  open: () => openHarness(bubblewrapRuntime),
});

function ofDocker(name: string, engine: typeof docker, world: World = {}): void {
  egressContract({
    name,
    unavailable: engine.available ? undefined : engine.reason,
    open: () =>
      openHarness((options) => dockerRuntime(options, options.docker), {
        ...world,
        ...(engine.available ? { dockerSocket: engine.socket } : {}),
      }),
  });
}

ofDocker('docker over a socket', docker, { dockerLink: 'socket' });
ofDocker('docker over stdio', docker, { dockerLink: 'stdio' });
ofDocker('podman', podman);

egressContract({
  name: "apple, against a strict stand-in for Apple's program",
  unavailable: docker.available ? undefined : docker.reason,
  open: () => openAppleStandIn(docker.available ? docker.socket : ''),
});
