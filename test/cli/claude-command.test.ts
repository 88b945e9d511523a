import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { AgentEvent } from '../../src/core/agent.ts';
import { claudeCode } from '../fixtures/agent-programs.ts';
import { agentScript } from '../fixtures/model-server/agent-script.ts';
import { type ModelServer, startModelServer } from '../fixtures/model-server/model-server.ts';
import { patience, patiently, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap } = inject('engines');
const claude = bubblewrap.available ? await claudeCode() : bubblewrap;
const skipped = claude.available ? '' : ` (skipped: ${claude.reason})`;

describe.skipIf(!claude.available)(`geode claude${skipped}`, patience, () => {
  let server: ModelServer;
  let home: SandboxHome;

  beforeAll(async () => {
    // It waits for a file, so that the host can be killed in the midst of it.
    const wait = 'echo begun > begun; while [ ! -e go ]; do sleep 0.1; done; echo gone on';
    server = await startModelServer(
      agentScript({
        'wait for the file': [
          { text: 'I wait.', calls: [{ tool: 'Bash', input: { command: wait, description: 'wait' } }] },
          { text: 'The file was there.' },
        ],
      }),
    );
    const folder = claude.available ? claude.folder : '';
    home = await sandboxHome({
      GEODE_RUNTIME_NAME: 'bubblewrap',
      GEODE_SECURITY_MOUNT_ROOTS: JSON.stringify([folder]),
      GEODE_CLAUDE_FOLDER: folder,
      GEODE_CLAUDE_UPSTREAM: server.url,
      GEODE_CLAUDE_PERMISSIONS: 'all',
    });
  }, 240_000);
  afterAll(async () => {
    await home?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  }, 120_000);

  it('the agent goes on while its host is killed, and the next host tells the rest once', async () => {
    expect((await home.run(['claude', 'wait for the file'])).stderr).toContain('geode secrets set anthropic');
    await home.ok(['secrets', 'set', 'anthropic'], 'a-key-for-the-test\n');
    const child = home.start('claude', '--chat', 'crash', 'wait for the file');
    await patiently(async () => {
      const { code } = await home.run(['sandbox', 'exec', 'crash', '--', 'test', '-e', 'begun']);
      return code === 0;
    }, 'the command');
    process.kill((await home.host()).pid, 'SIGKILL');
    child.kill('SIGKILL');
    await home.ok(['sandbox', 'exec', 'crash', '--', 'touch', 'go']);
    const events = await patiently(async () => {
      const lines = (await home.ok(['agent', 'log', 'crash', '--json'])).trim().split('\n');
      const all = lines.map((line): AgentEvent => JSON.parse(line));
      return all.at(-1)?.type === 'result' && all;
    }, 'the end of the turn');
    expect(events.filter(({ type }) => type !== 'file-change').map(({ type }) => type)).toEqual([
      ...['turn-start', 'text', 'tool-call', 'turn-resume', 'tool-result', 'text', 'usage', 'result'],
    ]);
    expect(events.find(({ type }) => type === 'tool-result')).toMatchObject({ output: 'gone on' });
    expect(events.at(-1)).toMatchObject({ outcome: 'done', text: 'The file was there.' });
    expect(server.calls).toHaveLength(2);
  });
});
