import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, inject } from 'vitest';
import { sandboxesContract } from '../contracts/sandboxes.ts';
import { ensureGvisor } from '../engine/index.ts';
import { loadFrom, storeIn } from '../runtimes/oci-store.ts';
import { sandboxWorld } from './world.ts';

const { bubblewrap, docker } = inject('engines');

describe('sandboxes that stay, native', () => sandboxesContract(() => sandboxWorld('native')));

describe.skipIf(!bubblewrap.available)('sandboxes that stay, bubblewrap', () =>
  sandboxesContract(() => sandboxWorld('bubblewrap')),
);

describe.skipIf(!docker.available)('sandboxes that stay, docker', () =>
  sandboxesContract(() => sandboxWorld('docker', docker.available ? { dockerSocket: docker.socket } : {})),
);

describe.skipIf(!docker.available)('sandboxes that stay, oci', () => {
  let images = '';
  let gvisor = '';
  beforeAll(async () => {
    images = await mkdtemp(join(tmpdir(), 'geode-test-store-'));
    gvisor = await ensureGvisor();
    if (docker.available) await loadFrom(docker.socket, storeIn(images), ['geode-test/python:1']);
  }, 900_000);
  afterAll(() => rm(images, { recursive: true, force: true }));

  describe('OCI-2 with runc', () =>
    sandboxesContract(() => sandboxWorld('oci', { oci: { program: 'runc', images } })));
  describe('OCI-2 with gVisor', () =>
    sandboxesContract(() => sandboxWorld('oci', { oci: { program: gvisor, images } })));
});
