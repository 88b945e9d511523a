import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, inject } from 'vitest';
import { noCheckpointsContract, sandboxCheckpointsContract } from '../contracts/sandboxes/checkpoints.ts';
import { ensureGvisor } from '../engine/index.ts';
import { loadFrom, storeIn } from '../runtimes/oci-store.ts';
import { sandboxWorld } from './world.ts';

const { bubblewrap, docker } = inject('engines');

describe.skipIf(!bubblewrap.available)('memory of sandboxes, bubblewrap', () =>
  noCheckpointsContract(() => sandboxWorld('bubblewrap')),
);

describe.skipIf(!docker.available)('memory of sandboxes, oci', () => {
  let images = '';
  let gvisor = '';
  beforeAll(async () => {
    images = await mkdtemp(join(tmpdir(), 'geode-test-store-'));
    gvisor = await ensureGvisor();
    if (docker.available) await loadFrom(docker.socket, storeIn(images), ['geode-test/python:1']);
  }, 900_000);
  afterAll(() => rm(images, { recursive: true, force: true }));

  describe('with runc', () =>
    noCheckpointsContract(() => sandboxWorld('oci', { oci: { program: 'runc', images } })));
  describe('with gVisor', () =>
    sandboxCheckpointsContract(() => sandboxWorld('oci', { oci: { program: gvisor, images } })));
});
