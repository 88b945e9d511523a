import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { patience, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap } = inject('engines');

describe.skipIf(!bubblewrap.available)(
  `geode uninstall${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  patience,
  () => {
    let home: SandboxHome;
    beforeAll(async () => {
      home = await sandboxHome({ GEODE_RUNTIME_NAME: 'bubblewrap', GEODE_SANDBOX_READY: '0' });
    });
    afterAll(() => home?.[Symbol.asyncDispose]());

    it('lists what it removes and keeps, asks, ends everything that runs, and removes the data when requested', async () => {
      const other = join(home.folder, 'run', 'of-another-state');
      mkdirSync(other, { recursive: true });
      await home.ok(['sandbox', 'create', 'demo']);
      const state = join(home.folder, '.local/state/geode');
      const unasked = await home.run(['uninstall']);
      expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
      expect(unasked.stdout).toContain('Stops     the host; sandboxes: local/demo');
      expect(unasked.stdout).toContain(`Keeps     ${state}`);
      expect(await home.ok(['sandbox', 'ls'])).toMatch(/demo +running/);

      await home.ok(['uninstall', '--yes']);
      expect(await home.json<{ host: unknown }>(['status'])).toMatchObject({
        host: null,
        sandboxes: [{ chat: 'demo', state: 'stopped' }],
      });
      expect(await home.ok(['uninstall', '--data', '--yes'])).toContain('Deletes   sandboxes: local/demo');
      expect(existsSync(state)).toBe(false);
      expect(existsSync(other)).toBe(true);
    });
  },
);
