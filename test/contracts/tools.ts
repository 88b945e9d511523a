import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PersistentSandbox } from '../../src/core/persistent.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';
import { done } from '../mcp/call.ts';
import { connectIn } from '../mcp/in-sandbox.ts';

/** A wall around sandboxes whose programs use the host's tools. */
export interface ToolWalls {
  readonly name: string;
  /** Why it cannot be tried here. */
  readonly missing?: string | undefined;
  readonly settings: Readonly<Record<string, string>>;
}

export function toolContract({ name, missing, settings }: ToolWalls): void {
  const reason = missing === undefined ? '' : ` (skipped: ${missing})`;
  describe.skipIf(missing !== undefined)(`tools in a ${name} sandbox${reason}`, { timeout: 300_000 }, () => {
    let world: HostWorld;
    let opened: OpenedHost;
    let sandbox: PersistentSandbox;
    beforeAll(async () => {
      world = hostWorld(settings);
      opened = await world.open();
      sandbox = await opened.host.sandboxes.of('alice').getOrCreate('tools');
    }, 300_000);
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
    }, 300_000);

    it('lets the official client inside remember, as the user of the sandbox', async () => {
      await opened.host.tools.open(sandbox);
      await using inside = await connectIn(sandbox);
      const { tools } = await inside.client.listTools();
      expect(tools.map((tool) => tool.name).sort()).toEqual(
        ['list_resources', 'memory_search', 'memory_store', 'read_resource', 'run_code'].sort(),
      );
      await done(inside.client, 'memory_store', { content: 'The crane is yellow.', id: 'crane' });
      expect(await opened.host.memory.in('alice').get('crane')).toMatchObject({
        content: 'The crane is yellow.',
      });
    });
  });
}
