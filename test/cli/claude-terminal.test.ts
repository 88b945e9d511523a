import { once } from 'node:events';
import { mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ProcessList } from '../../src/seams/process.ts';
import { claudeScene } from '../agents/scenes.ts';
import { eachOf } from '../each-of.ts';
import { claudeCode } from '../fixtures/agent-programs.ts';
import { agentScript } from '../fixtures/model-server/agent-script.ts';
import { type ModelServer, type Reply, startModelServer } from '../fixtures/model-server/model-server.ts';
import { wordsOf } from './beside.ts';
import { patience, patiently, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const engines = inject('engines');
const detach = '\x10\x11';
const program = await claudeCode();
const scenes = [
  claudeScene(engines, 'bubblewrap', program, { GEODE_CLAUDE_PERMISSIONS: 'edits' }),
  claudeScene(engines, 'docker', program, { GEODE_CLAUDE_PERMISSIONS: 'edits' }),
];

const testOf = (script: string) => `import os, unittest
class Script(unittest.TestCase):
    def test(self):
        os.system(${JSON.stringify(script)})
`;

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
    `AGT-1, AGT-4: the terminal of the agent continues the chat, can be left and rejoined, survives the host, and shares the conversation${skipped}`,
    async () => {
      const claude = ['claude', '--chat', 'tui'];
      expect(await home.ok([...claude, '-q', 'the number is 41'])).toBe('Forty-one it is.\n');

      await using first = home.sit(claude, { columns: 100, rows: 40 });
      // Earlier text is on the screen; the program does not ask for colours, keys or trust.
      await first.sees('Forty-one it is.');
      first.type('write it down');
      await first.sees(/❯.*write it down/);
      first.type('\r');
      // It asks the person at the terminal.
      await first.sees(/env python3[\s\S]*Do you want to proceed/);
      first.type(detach);
      expect(await first.over).toBe(0);
      expect(first.screen()).toContain('geode claude --chat tui');

      // Nobody else can send it messages at the same time.
      const refused = await home.run([...claude, 'and one more']);
      expect(refused.code).not.toBe(0);
      expect(refused.stderr).toContain('is in use at a terminal');

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
      const remembered = await home.ok(['memory', 'search', '--chat', 'tui', 'the number is in number.txt']);
      expect(remembered).toContain('number.txt');
      // The key was added outside, and nothing besides the model was tried.
      expect(eachOf(server.calls).every(({ headers }) => headers['x-api-key'] === 'a-key-for-the-test')).toBe(
        true,
      );
      const inside = 'cat /proc/*/environ | tr "\\0" "\\n"; cat /proc/net/dev';
      const seen = await home.ok(['sandbox', 'exec', 'tui', '--', 'sh', '-c', inside]);
      expect(seen).not.toContain('a-key-for-the-test');
      expect(seen.match(/^ *\w+:(?= *\d)/gm)).toEqual([expect.stringContaining('lo:')]);
      expect(await home.json(['egress', 'log', '--denied'])).toEqual({ records: [] });
    },
  );

  it.skipIf(isSkipped)(`begins a conversation, and ends with it${skipped}`, async () => {
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

  it.skipIf(isSkipped)(`works on a copy of a folder, and brings back what it changed${skipped}`, async () => {
    const project = join(home.folder, 'project');
    await mkdir(join(project, '.git', 'hooks'), { recursive: true });
    await mkdir(join(project, 'src'));
    await writeFile(join(project, 'src', 'kept.txt'), 'as it was\n');
    await writeFile(join(project, 'src', 'gone.txt'), 'not for long\n');
    await writeFile(join(project, 'both.txt'), 'before\n');
    await writeFile(join(project, '.git', 'config'), '[core]\n');
    await symlink('/etc', join(project, 'outside'));
    const claude = ['claude', '-C', 'project', '-q'];
    // As tests, which are allowed ahead.
    const inTest = (name: string, script: string, hold = Promise.resolve()) => [
      { text: '', calls: [scene.write(`${name}.py`, testOf(script))], hold },
      { text: '', calls: [scene.run(`python3 -m unittest ${name}`)] },
    ];
    const evil = [
      'rm src/gone.txt; echo new > src/new.txt; chmod 755 src/new.txt; mkdir -p deep/er; echo x > deep/er/x',
      'echo evil > .git/hooks/pre-commit; echo evil >> .git/config; mkdir -p sub/.GIT; echo evil > sub/.GIT/config',
      'ln -s /etc/passwd password; mkdir outside; echo evil > outside/evil; ln -s src/new.txt inner; mkfifo pipe',
    ];
    steps['change the files'] = [...inTest('change', evil.join('; ')), { text: 'Changed.' }];
    // The agent does nothing before the file here has changed.
    const changed = Promise.withResolvers<void>();
    steps['look at the files'] = [
      ...inTest('look', 'cat both.txt src/*; echo mine > both.txt', changed.promise),
      { text: 'Looked.' },
    ];
    const first = await home.run([...claude, 'change the files']);
    expect(first.stdout, first.stderr).toBe('Changed.\n');
    const read = (path: string) => readFile(join(project, path), 'utf8').catch(({ code }) => code);
    expect(
      await Promise.all(['src/kept.txt', 'src/gone.txt', 'src/new.txt', 'deep/er/x', 'inner'].map(read)),
    ).toEqual([...['as it was\n', 'ENOENT', 'new\n', 'x\n', 'new\n']]);
    expect((await stat(join(project, 'src', 'new.txt'))).mode & 0o111).not.toBe(0);
    // Nothing that leads out of the folder, or that git would run.
    expect(await read('.git/config')).toBe('[core]\n');
    expect(
      await Promise.all(['.git/hooks/pre-commit', 'sub/.GIT/config', 'password', 'pipe'].map(read)),
    ).toEqual([...['ENOENT', 'ENOENT', 'ENOENT', 'ENOENT']]);
    expect(await readlink(join(project, 'outside'))).toBe('/etc');
    expect(await readFile('/etc/evil', 'utf8').catch(({ code }) => code)).toBe('ENOENT');
    expect(first.stderr).toContain('password is now a link to /etc/passwd: not brought back');
    expect(first.stderr).toContain('outside/evil has a link or a file in its way: not brought back');

    // Local changes go in; if both sides changed a file, both versions are kept.
    await writeFile(join(project, 'src', 'kept.txt'), 'changed by hand\n');
    const child = home.start(...claude, 'look at the files');
    const said = wordsOf(child);
    await patiently(async () => said().includes('went in'), 'the copy');
    await writeFile(join(project, 'both.txt'), 'by hand\n');
    const closed = once(child, 'close');
    changed.resolve();
    await closed;
    expect(said()).toContain('Looked.');
    const looked = server.calls.findLast(({ prompt }) => prompt.includes('look at the files'));
    expect(looked?.prompt).toMatch(/before[\s\S]*changed by hand/);
    expect(await Promise.all(['both.txt', 'both.txt.agent'].map(read))).toEqual(['by hand\n', 'mine\n']);
    expect((await readdir(project)).filter((name) => name.endsWith('.partial'))).toEqual([]);

    // At night nobody answers: commands are allowed, and the morning finds a summary and a diff.
    const night = 'echo "from the night" > src/kept.txt; ls /nowhere';
    steps['work at night'] = [{ text: '', calls: [scene.run(night)] }, { text: 'Good morning.' }];
    const worked = await home.run([...claude, '--unattended', 'work at night']);
    expect(worked.stdout, worked.stderr).toBe('Good morning.\n');
    expect(worked.stderr).toMatch(/done after .* minutes.*; 1 calls of tools, 1 failed; the report/);
    expect(await read('src/kept.txt')).toBe('from the night\n');
    const report = await readFile(/the diff: (.*\.md)$/m.exec(worked.stderr)?.[1] ?? '', 'utf8');
    expect(report).toMatch(/Asked: work at night[\s\S]*Good morning\.[\s\S]*src\/kept\.txt.*\(failed\)/);
    expect(report).toMatch(/^-changed by hand\n\+from the night$/m);
    expect((await home.run(['claude', '--unattended', 'hello'])).stderr).toContain('needs -C FOLDER');

    const refused = await home.run(['claude', '-C', '.', 'hello']);
    expect(refused.stderr).toContain('it would show');
    expect(refused.code).not.toBe(0);
  });

  it.skipIf(isSkipped)(`says what it needs where there is no terminal${skipped}`, async () => {
    const { code, stderr } = await home.run(['claude']);
    expect(code).toBe(2);
    expect(stderr).toContain('needs a terminal');
  });
});
