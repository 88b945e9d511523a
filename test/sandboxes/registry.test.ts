import { describe, inject } from 'vitest';
import { sandboxesContract } from '../contracts/sandboxes.ts';
import { sandboxWorld } from './world.ts';

const { bubblewrap, docker } = inject('engines');

describe('sandboxes that stay, native', () => sandboxesContract(() => sandboxWorld('native')));

describe.skipIf(!bubblewrap.available)('sandboxes that stay, bubblewrap', () =>
  sandboxesContract(() => sandboxWorld('bubblewrap')),
);

describe.skipIf(!docker.available)('sandboxes that stay, docker', () =>
  sandboxesContract(() => sandboxWorld('docker', docker.available ? { dockerSocket: docker.socket } : {})),
);
