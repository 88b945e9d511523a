import { afterEach, beforeEach, describe } from 'vitest';
import type { MemoryStore } from '../../src/seams/memory.ts';
import { auditContract } from './memory/audit.ts';
import { keepingContract } from './memory/keeping.ts';
import { recallContract } from './memory/recall.ts';
import { type MemoryScene, memoryScene, type OpenForTest } from './memory/scene.ts';
import { storingContract } from './memory/storing.ts';
import { upkeepContract } from './memory/upkeep.ts';

/** Tests for every memory, with any index. An index's own test file gives the factory. */
export function memoryContract(name: string, open: (options: OpenForTest) => MemoryStore): void {
  describe(`memory on ${name}`, () => {
    let opened: MemoryScene | undefined;
    const scene = (): MemoryScene => {
      if (opened === undefined) throw new Error('the scene is not open');
      return opened;
    };
    beforeEach(() => {
      opened = memoryScene(open);
    });
    afterEach(() => opened?.[Symbol.asyncDispose]());
    storingContract(scene);
    recallContract(scene);
    keepingContract(scene);
    upkeepContract(scene);
    auditContract(scene);
  });
}
