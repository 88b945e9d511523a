import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { agentFailures, agentTurns } from '../contracts/agent-driver.ts';
import { claudeCode } from '../fixtures/agent-programs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { claudeScene } from './scenes.ts';

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
  agentFailures(scene, stage);

  it('AGT-1: one process holds many turns and has the skills of the operator; after its end the session is resumed', async () => {
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
    expect(server.calls.every(({ headers }) => headers['x-api-key'] === stage().key)).toBe(true);
    expect(await client.agents.stop('two')).toBe(true);
    expect(await programs()).toEqual([]);
  });
});
