import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { patience, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

describe.skipIf(!bubblewrap.available)(`geode tools${skipped}`, patience, () => {
  let home: SandboxHome;
  beforeAll(async () => {
    home = await sandboxHome({
      GEODE_RUNTIME_NAME: 'bubblewrap',
      GEODE_MEMORY_EMBEDDER: 'ollama',
      GEODE_MEMORY_MODEL: 'none',
      GEODE_MEMORY_DIMENSIONS: '8',
      GEODE_MEMORY_BASE_URL: 'http://127.0.0.1:9',
    });
  });
  afterAll(() => home[Symbol.asyncDispose](), 300_000);

  it('lists, replaces and closes sessions; wrong arguments give a hint', async () => {
    await home.ok(['sandbox', 'create', 'alice/work']);
    const first = await home.json<{ id: string; tools: string[] }>(['tools', 'open', 'alice/work']);
    expect(first.tools).toContain('ask_person');
    const again = await home.json<{ id: string }>(['tools', 'open', 'alice/work', '--replace']);
    expect(again.id).not.toBe(first.id);
    expect(await home.ok(['tools', 'ls', '--user', 'alice'])).toContain('alice/work');
    const wrong = await home.run(['tools', 'open', 'alice/work', '--tools', 'rm_rf']);
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toContain('memory_search');
    expect(await home.json(['tools', 'close', '--all', '--user', 'alice'])).toEqual({ closed: 1 });
    expect(await home.json(['tools', 'close', 'alice/work'])).toEqual({ closed: 0 });
  });
});
