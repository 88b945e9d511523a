import { inject } from 'vitest';
import { toolContract } from '../contracts/tools.ts';
import { imageTag } from '../engine/images.ts';

const { bubblewrap, docker } = inject('engines');

toolContract({
  name: 'bubblewrap',
  missing: bubblewrap.available ? undefined : bubblewrap.reason,
  settings: { GEODE_RUNTIME_NAME: 'bubblewrap' },
});

toolContract({
  name: 'docker',
  missing: docker.available ? undefined : docker.reason,
  settings: {
    GEODE_RUNTIME_NAME: 'docker',
    GEODE_DOCKER_IMAGE: imageTag('node'),
    ...(docker.available && { GEODE_DOCKER_HOST: `unix://${docker.socket}` }),
  },
});
