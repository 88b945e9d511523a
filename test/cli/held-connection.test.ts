import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type HeldSocket, holdSocket } from './held-socket.ts';
import { patience, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

describe.skipIf(!bubblewrap.available)(`a command whose connections stay open${skipped}`, patience, () => {
  let home: SandboxHome;
  let held: HeldSocket;

  beforeAll(async () => {
    home = await sandboxHome({ GEODE_RUNTIME_NAME: 'bubblewrap', GEODE_SANDBOX_LINGER: '600' });
    await home.ok(['sandbox', 'create', 'demo']);
    held = await holdSocket(home);
  }, patience.timeout);
  afterAll(async () => {
    held.release();
    await home[Symbol.asyncDispose]();
  });

  it.each([
    ['a command in a sandbox', ['sandbox', 'exec', 'demo', '--', 'echo', 'here'], 0, 'here\n'],
    ['one that fails', ['sandbox', 'exec', 'demo', '--', 'sh', '-c', 'exit 3'], 3, ''],
    ['one that is refused', ['sandbox', 'exec', 'nobody', '--', 'true'], 125, ''],
    ['a run', ['run', '-q', 'shell', '-c', 'echo here'], 0, 'here\n'],
    ['a list', ['sandbox', 'ls'], 0, expect.stringContaining('local/demo')],
  ] as const)('exits after its answer although the host never closes: %s', async (_, args, code, stdout) => {
    const before = held.answers();
    expect(await home.run(args)).toMatchObject({ code, stdout });
    expect(held.answers()).toBeGreaterThan(before);
  });
});
