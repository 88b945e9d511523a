import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ProcessList } from '../../src/core/process.ts';
import { claudeScene } from '../agents/scenes.ts';
import { claudeCode } from '../fixtures/agent-programs.ts';
import { agentScript } from '../fixtures/model-server/agent-script.ts';
import { type ModelServer, type Reply, startModelServer } from '../fixtures/model-server/model-server.ts';
import { patience, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const engines = inject('engines');
const detach = '\x10\x11';
const program = await claudeCode();
const scenes = [
  claudeScene(engines, 'bubblewrap', program, { GEODE_CLAUDE_PERMISSIONS: 'edits' }),
  claudeScene(engines, 'docker', program, { GEODE_CLAUDE_PERMISSIONS: 'edits' }),
];

describe.each(scenes)('geode claude at a terminal, $name', patience, (scene) => {
  const isSkipped = scene.unavailable !== undefined;
  const skipped = isSkipped ? ` (skipped: ${scene.unavailable})` : '';
  let server: ModelServer;
  let home: SandboxHome;
  const steps: Record<string, Reply[]> = {
    'the number is 41': [{ text: 'Forty-one it is.' }],
    'write it down': [
      { text: '', calls: [scene.write('number.txt', '41\n')] },
      { text: '', calls: [scene.run("env python3 -c \"open('copy.txt', 'w').write('41')\"")] },
      { text: '', calls: [scene.remember('the number is in number.txt')] },
      { text: 'It is written.' },
    ],
    'and one more': [{ text: 'That makes forty-two.' }],
  };

  beforeAll(async () => {
    if (isSkipped) return;
    server = await startModelServer(agentScript(steps));
    home = await sandboxHome(scene.settings(server));
    await home.ok(['secrets', 'set', 'anthropic'], 'a-key-for-the-test\n');
  }, 240_000);
  afterAll(async () => {
    await home?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  }, 120_000);

  it.skipIf(isSkipped)(
    `AGT-1, AGT-4: its own screen goes on with the conversation, is left and comes back, outlives the host, and hands the conversation on${skipped}`,
    async () => {
      const claude = ['claude', '--chat', 'tui'];
      expect(await home.ok([...claude, '-q', 'the number is 41'])).toBe('Forty-one it is.\n');

      await using first = home.sit(claude, { columns: 100, rows: 40 });
      // What was said before is on the screen: nobody is asked for colours, keys or trust.
      await first.sees('Forty-one it is.');
      first.type('write it down');
      await first.sees(/❯.*write it down/);
      first.type('\r');
      // It asks the person at the terminal.
      await first.sees(/env python3[\s\S]*Do you want to proceed/);
      first.type(detach);
      expect(await first.over).toBe(0);
      expect(first.screen()).toContain('geode claude --chat tui');

      // Nobody else can talk to it meanwhile.
      const refused = await home.run([...claude, 'and one more']);
      expect(refused.code).not.toBe(0);
      expect(refused.stderr).toContain('is at a terminal');

      process.kill((await home.host()).pid, 'SIGKILL');
      await using again = home.sit(claude, { columns: 90, rows: 40 });
      await again.sees('Do you want to proceed');
      again.type('1');
      await again.sees('It is written.');
      const { processes } = await home.json<ProcessList>(['sandbox', 'ps', 'tui']);
      const terminals = processes.filter(({ terminal, state }) => terminal !== null && state === 'running');
      expect(terminals).toHaveLength(1);
      const [argv] = terminals.map((each) => each.argv);
      expect(argv).toEqual(expect.arrayContaining(['--setting-sources', '--strict-mcp-config', '--resume']));
      again.type('/exit');
      await again.sees(/❯.*\/exit/);
      again.type('\r');
      expect(await again.over).toBe(0);

      // Later turns know what was said at the terminal.
      expect(await home.ok([...claude, '-q', 'and one more'])).toBe('That makes forty-two.\n');
      const asked = server.calls.findLast(({ prompt }) => prompt.includes('and one more'));
      expect(asked?.prompt).toMatch(/the number is 41[\s\S]*It is written\.[\s\S]*and one more/);
      expect(await home.ok(['sandbox', 'exec', 'tui', '--', 'cat', 'copy.txt'])).toBe('41');
      const remembered = await home.ok(['memory', 'search', 'the number is in number.txt']);
      expect(remembered).toContain('number.txt');
      // The key was added outside, and nothing besides the model was tried.
      expect(server.calls.every(({ headers }) => headers['x-api-key'] === 'a-key-for-the-test')).toBe(true);
      const inside = 'cat /proc/*/environ | tr "\\0" "\\n"; cat /proc/net/dev';
      const seen = await home.ok(['sandbox', 'exec', 'tui', '--', 'sh', '-c', inside]);
      expect(seen).not.toContain('a-key-for-the-test');
      expect(seen.match(/^ *\w+:(?= *\d)/gm)).toEqual([expect.stringContaining('lo:')]);
      expect(await home.json(['egress', 'log', '--denied'])).toEqual({ records: [] });
    },
  );

  it.skipIf(isSkipped)(`begins a conversation, and is ended with it${skipped}`, async () => {
    await using me = home.sit(['claude', '--chat', 'new'], { columns: 100, rows: 40 });
    await me.sees('Claude Code v');
    await me.sees('accept edits on');
    me.type('the number is 41');
    await me.sees(/❯.*the number is 41/);
    me.type('\r');
    await me.sees('Forty-one it is.');
    me.type(detach);
    expect(await me.over).toBe(0);
    await home.ok(['agent', 'stop', 'new']);
    const { processes } = await home.json<ProcessList>(['sandbox', 'ps', 'new']);
    expect(processes.filter(({ state }) => state === 'running')).toEqual([]);
  });

  it.skipIf(isSkipped)(`says what it needs where there is no terminal${skipped}`, async () => {
    const { code, stderr } = await home.run(['claude']);
    expect(code).toBe(2);
    expect(stderr).toContain('needs a terminal');
  });
});
