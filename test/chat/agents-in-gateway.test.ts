import { inject } from 'vitest';
import { chatAgentsContract } from '../contracts/chat-agents.ts';
import { dockerSettings } from '../fixtures/docker-settings.ts';

const { bubblewrap, docker } = inject('engines');

chatAgentsContract({
  title: 'with the loop in the gateway and bubblewrap',
  skip: bubblewrap.available ? '' : bubblewrap.reason,
  isInside: false,
  settings: { GEODE_RUNTIME_NAME: 'bubblewrap' },
});
chatAgentsContract({
  title: 'with the loop in the gateway and Docker',
  skip: docker.available ? '' : docker.reason,
  isInside: false,
  settings: dockerSettings(docker),
});
