import { inject } from 'vitest';
import { chatAgentsContract } from '../contracts/chat-agents.ts';
import { dockerSettings } from '../fixtures/docker-settings.ts';

const { bubblewrap, docker } = inject('engines');

chatAgentsContract({
  title: 'inside sandboxes of bubblewrap',
  skip: bubblewrap.available ? '' : bubblewrap.reason,
  isInside: true,
  settings: { GEODE_RUNTIME_NAME: 'bubblewrap', GEODE_CONTAINER_AGENT_ENABLED: 'true' },
});
chatAgentsContract({
  title: 'inside containers of Docker',
  skip: docker.available ? '' : docker.reason,
  isInside: true,
  settings: { ...dockerSettings(docker), GEODE_CONTAINER_AGENT_ENABLED: 'true' },
});
