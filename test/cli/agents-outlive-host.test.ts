import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { AgentEvent } from '../../src/seams/agent.ts';
import { acpScene, claudeScene, codexScene } from '../agents/scenes.ts';
import { textOf } from '../agents/stage.ts';
import { claudeAcp, claudeCode, codex } from '../fixtures/agent-programs.ts';
import { agentScript } from '../fixtures/model-server/agent-script.ts';
import { type ModelServer, type Reply, startModelServer } from '../fixtures/model-server/model-server.ts';
import { patience, patiently, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const engines = inject('engines');
const scenes = [
  claudeScene(engines, 'bubblewrap', await claudeCode()),
  codexScene(engines, 'bubblewrap', await codex()),
  acpScene(engines, 'bubblewrap', await claudeAcp()),
];

/** A test that waits for a file, so that the host can be killed in the midst of it. */
const waiting = `import os, time, unittest
class Waiting(unittest.TestCase):
    def test(self):
        open('begun', 'w').close()
        while not os.path.exists('go'): time.sleep(0.1)
        print('gone', 'on')
`;

describe.each(scenes)('a killed host and $name', patience, (scene) => {
  const skipped = scene.unavailable === undefined ? '' : ` (skipped: ${scene.unavailable})`;
  let server: ModelServer;
  let home: SandboxHome;
  const steps: Record<string, Reply[]> = {
    'wait for the file': [
      { text: 'I write. ', calls: [scene.write('waiting.py', waiting)] },
      { text: 'I wait. ', calls: [scene.run('python3 -m unittest waiting')] },
      { text: 'The file was there.' },
    ],
  };

  beforeAll(async () => {
    if (scene.unavailable === undefined) {
      server = await startModelServer(agentScript(steps));
      home = await sandboxHome(scene.settings(server));
    }
  }, 240_000);
  afterAll(async () => {
    await home?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  }, 120_000);

  it.skipIf(scene.unavailable !== undefined)(
    `the agent continues while its host is killed, and the next host delivers the rest once${skipped}`,
    async () => {
      const command = ['agent', '--driver', scene.driver, '--chat', 'crash', '-m', 'wait for the file'];
      expect((await home.run(command)).stderr).toContain(`geode secrets set ${scene.secret}`);
      await home.ok(['secrets', 'set', scene.secret ?? ''], 'a-key-for-the-test\n');
      const child = home.start(...command);
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
        return ['result', 'error'].includes(all.at(-1)?.type ?? '') && all;
      }, 'the end of the turn');
      const beside = ['file-change', 'usage', 'turn-resume'];
      expect(events.map(({ type }) => type).filter((type) => !beside.includes(type))).toEqual([
        ...['turn-start', 'text', 'tool-call', 'tool-result'],
        ...['text', 'tool-call', 'tool-result', 'text', 'result'],
      ]);
      expect(events.filter(({ type }) => type === 'turn-resume')).toHaveLength(1);
      expect(textOf(events)).toBe('I write. I wait. The file was there.');
      const results = events.flatMap((event) => (event.type === 'tool-result' ? [event] : []));
      expect(results[1]).toMatchObject({ output: expect.stringContaining('gone on'), failed: false });
      expect(events.at(-1)).toMatchObject({ outcome: 'done', text: 'The file was there.' });
      // The message reached the agent once.
      const asked = server.calls.find(({ prompt }) => prompt.includes('gone on'));
      expect(asked?.prompt.match(/wait for the file/g)).toHaveLength(1);
    },
  );
});
