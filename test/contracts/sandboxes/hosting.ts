import { expect } from 'vitest';
import type { Sandboxes } from '../../../src/seams/persistent.ts';
import type { SandboxWorld } from '../../sandboxes/world.ts';

type Work = (sandboxes: Sandboxes, world: SandboxWorld) => Promise<void>;

/** Work with one host in a world of its own, which has nothing to warn of. */
export function hostingIn(open: () => Promise<SandboxWorld>): (work: Work) => Promise<void> {
  return async (work) => {
    await using world = await open();
    await work(await world.host(), world);
    expect(world.warnings).toEqual([]);
  };
}
