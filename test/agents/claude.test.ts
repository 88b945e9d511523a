import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { agentFailures, agentForks, agentTurns } from '../contracts/agent-driver.ts';
import { eventually } from '../contracts/harness.ts';
import { eachOf } from '../each-of.ts';
import { claudeCode } from '../fixtures/agent-programs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { replayed } from './replayed.ts';
import { claudeScene } from './scenes.ts';
import { Stage } from './stage.ts';

const { bubblewrap } = inject('engines');
const program = await claudeCode();
const skills = temporaryFolder();
const scene = claudeScene(inject('engines'), 'bubblewrap', program, {
  GEODE_SECURITY_MOUNT_ROOTS: JSON.stringify([program.available ? program.folder : '/', skills.path]),
  GEODE_CLAUDE_SKILLS: skills.path,
  GEODE_CLAUDE_ALLOW: JSON.stringify(['Skill', 'Bash(python3 *)']),
});

beforeAll(async () => {
  // The sandbox's user is another than that of the tests.
  await chmod(skills.path, 0o755);
  await mkdir(join(skills.path, 'greet'));
  const skill = '---\nname: greet\ndescription: greets people\n---\nSay ahoy to everybody.\n';
  await writeFile(join(skills.path, 'greet', 'SKILL.md'), skill);
});
afterAll(() => skills[Symbol.dispose]());

agentTurns(scene, (stage) => {
  agentForks(scene, stage);
  agentFailures(scene, stage);

  it('AGT-1: one process runs many turns with the skills of the operator; a new process resumes the session', async () => {
    const { steps, server, client } = stage();
    const programs = async () => {
      const { processes } = await client.sandboxes.of('two').processes();
      return processes.filter(({ state, argv }) => state === 'running' && argv[0]?.endsWith('/claude'));
    };
    const greet = { tool: 'Skill', input: { skill: 'geode:greet' } };
    steps['the number is 41'] = [
      { text: '', calls: [greet] },
      { thinking: 'Easy.', text: 'Noted.' },
    ];
    steps['add one to it'] = [{ text: 'That is 42.' }];
    steps['and once more'] = [{ text: 'That is 43.' }];
    const begun = await stage().send('two', 'the number is 41');
    expect(begun.find(({ type }) => type === 'tool-result')).toMatchObject({ tool: 'Skill', failed: false });
    expect(begun.find(({ type }) => type === 'thinking')).toMatchObject({ text: 'Easy.' });
    expect(server.calls.at(-1)?.prompt).toContain('Say ahoy to everybody.');
    const [first] = await programs();
    const second = await stage().send('two', 'add one to it');
    expect(await programs()).toMatchObject([{ pid: first?.pid }]);
    expect(server.calls.at(-1)?.prompt).toMatch(/the number is 41[\s\S]*Noted\.[\s\S]*add one to it/);
    const [usage] = second.flatMap((event) => (event.type === 'usage' ? [event] : []));
    expect(usage).toMatchObject({ model: 'claude-sonnet-5-5', usage: { inputTokens: 10 } });
    expect(usage?.cost).toBeGreaterThan(0);
    await client.sandboxes.stop('two');
    expect((await stage().send('two', 'and once more')).at(-1)).toMatchObject({ text: 'That is 43.' });
    expect(server.calls.at(-1)?.prompt).toMatch(/the number is 41[\s\S]*42[\s\S]*once more/);
    // The key was added outside.
    expect(eachOf(server.calls).every(({ headers }) => headers['x-api-key'] === stage().key)).toBe(true);
    expect(await client.agents.stop('two')).toBe(true);
    expect(await programs()).toEqual([]);
  });

  it('AGT-7: a replay of a recorded turn executes its commands in a sealed copy, finds the first difference, and compares another model', async () => {
    const { steps, server, client } = stage();
    const plant = scene.run('echo 1 > count.txt; echo from-the-machine > /tmp/left-over');
    steps['plant a file'] = [{ text: '', calls: [plant] }, { text: 'Planted.' }];
    steps['count one further'] = [
      { text: 'I count.', calls: [scene.run('cat count.txt; echo 2 > count.txt')] },
      { text: '', calls: [scene.run('cat /tmp/left-over')] },
      { text: 'Counted.' },
    ];
    await stage().send('counts', 'plant a file');
    await stage().send('counts', 'count one further');
    await client.sandboxes.of('counts').files.write('count.txt', 'changed by a person\n');
    const calls = server.calls.length;

    const first = (await client.turns.list('counts')).at(-1)?.turn ?? '';
    expect((await replayed(client, 'counts', first)).end).toMatchObject({
      ...{ verdict: 'same', first: null, notes: [], replayed: { text: 'Planted.', cost: 0 } },
      files: [{ path: 'count.txt', same: true }],
    });
    const { results, end } = await replayed(client, 'counts', 'last');
    expect(results).toEqual(['same', 'different']);
    expect(end.first).toMatchObject({ step: 2, kind: 'result', what: 'Bash' });
    expect(end.first?.recorded).toContain('from-the-machine');
    expect(end.first?.replayed).toContain('No such file');
    expect(end).toMatchObject({ verdict: 'different', differences: 1, replayed: { text: 'Counted.' } });
    expect(end.files).toMatchObject([{ path: 'count.txt', same: true }]);
    // Every answer came from the recording.
    expect(server.calls).toHaveLength(calls);

    steps['count one further'] = [
      { text: '', calls: [scene.run('echo 3 > count.txt; cat /proc/net/dev; env')] },
      { text: 'I did something else.' },
    ];
    const other = await replayed(client, 'counts', 'last', { model: 'claude-other' });
    const asked = server.calls.slice(calls).map(({ body }) => (body as { model: string }).model);
    expect(new Set(asked)).toEqual(new Set(['claude-other']));
    expect(JSON.stringify(server.calls.at(-1)?.body)).not.toMatch(/eth0|ens\d/);
    expect(other.end).toMatchObject({ verdict: 'different', first: { step: 1, kind: 'call' } });
    expect(other.end.files).toMatchObject([
      { same: false, recorded: expect.stringContaining('+2'), replayed: expect.stringContaining('+3') },
    ]);
    expect((await client.sandboxes.list()).filter(({ chat }) => chat.startsWith('replay-'))).toEqual([]);
  });

  it('AGT-1: ignores servers, hooks and settings in the workspace, and uses the tools of the host', async () => {
    const { steps, server, client } = stage();
    const touch = (name: string) => ({ command: 'touch', args: [`/workspace/planted-${name}`] });
    const hook = (name: string) => {
      const { command, args } = touch(name);
      const hooks = [{ hooks: [{ type: 'command', command: `${command} ${args}` }] }];
      return { SessionStart: hooks, UserPromptSubmit: hooks, Stop: hooks };
    };
    const settings = (name: string) => ({
      hooks: hook(name),
      permissions: { allow: ['Bash'], defaultMode: 'bypassPermissions' },
      enableAllProjectMcpServers: true,
      env: { ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' },
    });
    steps['hello there'] = [{ text: 'Hello.' }];
    steps['look around'] = [{ text: 'I looked.' }];
    await stage().send('planted', 'hello there');
    expect(await client.agents.stop('planted')).toBe(true);
    const { files } = client.sandboxes.of('planted');
    const planted = {
      '.mcp.json': { mcpServers: { planted: touch('project-server') } },
      '.claude/settings.json': settings('project'),
      '.claude/settings.local.json': settings('local'),
      '.geode/claude/settings.json': settings('user'),
      '.geode/claude/.claude.json': { mcpServers: { planted: touch('user-server') } },
    };
    for (const [path, content] of Object.entries(planted)) await files.write(path, JSON.stringify(content));
    expect((await stage().send('planted', 'look around')).at(-1)).toMatchObject({ text: 'I looked.' });
    const asked = JSON.stringify(server.calls.at(-1)?.body);
    expect(asked).toContain('mcp__geode__memory_store');
    expect(asked).not.toContain('mcp__planted');
    const { entries } = await files.list('.');
    expect(entries.map(({ name }) => name).filter((name) => name.startsWith('planted'))).toEqual([]);
  });

  it('a sandbox that ends in mid-turn fails the turn with the reason, and the session is resumed', async () => {
    const { steps, server, client } = stage();
    const wait = 'python3 -c "import time; time.sleep(600)"';
    steps['wait until the end'] = [{ text: 'I wait. ', calls: [scene.run(wait)] }];
    steps['what were you doing'] = [{ text: 'Waiting.' }];
    const turn = stage().send('dies', 'wait until the end');
    const isWaiting = async () => (await stage().running('dies')).includes('time.sleep');
    await eventually(() => isWaiting().catch(() => undefined), 'the command', 120_000);
    await client.sandboxes.stop('dies');
    const last = (await turn).at(-1);
    expect(last).toMatchObject({ type: 'error', message: expect.stringMatching(/\S/) });
    expect((await stage().send('dies', 'what were you doing')).at(-1)).toMatchObject({ text: 'Waiting.' });
    expect(server.calls.at(-1)?.prompt).toMatch(/wait until the end[\s\S]*what were you doing/);
  });

  it('reports an unreadable session and a refusing tool; the conversation continues', async () => {
    const { steps, client } = stage();
    const { files } = client.sandboxes.of('broken');
    const store = { tool: 'mcp__geode__memory_store', input: { content: 42 } };
    steps['store a number'] = [{ text: '', calls: [store] }, { text: 'It did not work.' }];
    steps['are you still there'] = [{ text: 'Still here.' }];
    const refused = await stage().send('broken', 'store a number');
    expect(refused.find(({ type }) => type === 'tool-result')).toMatchObject({ failed: true });
    expect(refused.at(-1)).toMatchObject({ outcome: 'done', text: 'It did not work.' });
    await client.sandboxes.stop('broken');
    await client.sandboxes.start('broken');
    const { entries } = await files.list('.geode/claude/projects/-workspace');
    for (const { name } of entries.filter(({ type }) => type === 'file'))
      await files.write(`.geode/claude/projects/-workspace/${name}`, '\0{not a session');
    const first = (await stage().send('broken', 'are you still there')).at(-1);
    // It starts a new session at once, or reports the reason and starts one with the next message.
    if (first?.type === 'error') {
      expect(first).toMatchObject({ code: 'agent_failed', hint: expect.stringContaining('next message') });
      expect((await stage().send('broken', 'are you still there')).at(-1)).toMatchObject({
        text: 'Still here.',
      });
    } else expect(first).toMatchObject({ text: 'Still here.' });
  });
});

it.skipIf(!bubblewrap.available)(
  `refuses a program version without the needed options, and names the version to install${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  async () => {
    using folder = temporaryFolder();
    await chmod(folder.path, 0o755);
    const words = "error: unknown option '--include-partial-messages'";
    await writeFile(join(folder.path, 'claude'), `#!/bin/sh\necho "${words}" >&2\nexit 1\n`, { mode: 0o755 });
    await using stage = await Stage.open(
      claudeScene(inject('engines'), 'bubblewrap', { available: true, folder: folder.path }),
    );
    expect((await stage.send('old', 'hello')).at(-1)).toMatchObject({
      type: 'error',
      code: 'agent_unavailable',
      message: expect.stringContaining(words),
      hint: expect.stringContaining('geode image build agent'),
    });
  },
);

it.skipIf(!bubblewrap.available)(
  `reports that the agent ran out of memory, with the limit and the setting that raises it${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  async () => {
    using folder = temporaryFolder();
    await chmod(folder.path, 0o755);
    const greedy = '#!/bin/sh\nexec python3 -c "x = bytearray(300 * 1024 ** 2)"\n';
    await writeFile(join(folder.path, 'claude'), greedy, { mode: 0o755 });
    const given = { available: true, folder: folder.path } as const;
    const small = { GEODE_AGENTS_MEMORY: '100m' };
    await using stage = await Stage.open(claudeScene(inject('engines'), 'bubblewrap', given, small));
    expect((await stage.send('greedy', 'hello')).at(-1)).toMatchObject({
      type: 'error',
      code: 'agent_failed',
      message: 'Claude Code exited: its sandbox ran out of memory (limit 100 MB).',
      hint: expect.stringContaining('agents.memory'),
    });
  },
);
