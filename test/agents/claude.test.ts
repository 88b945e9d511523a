import { randomUUID } from 'node:crypto';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import type { AgentEvent, Attachment, PermissionAnswer } from '../../src/core/agent.ts';
import { eventually } from '../contracts/harness.ts';
import { claudeCode } from '../fixtures/agent-programs.ts';
import { agentScript } from '../fixtures/model-server/agent-script.ts';
import { type ModelServer, type Reply, startModelServer } from '../fixtures/model-server/model-server.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const { bubblewrap } = inject('engines');
const claude = bubblewrap.available ? await claudeCode() : bubblewrap;
const skipped = claude.available ? '' : ` (skipped: ${claude.reason})`;
const key = `sk-ant-${randomUUID()}`;
const bash = (command: string) => ({ tool: 'Bash', input: { command, description: 'a command' } });

describe.skipIf(!claude.available)(`Claude Code in a sandbox${skipped}`, { timeout: 240_000 }, () => {
  let server: ModelServer;
  let world: HostWorld;
  let opened: OpenedHost;
  let client: GeodeClient;
  let skills: ReturnType<typeof temporaryFolder>;
  const steps: Record<string, readonly Reply[]> = {};

  beforeAll(async () => {
    server = await startModelServer(agentScript(steps));
    skills = temporaryFolder();
    // The sandbox's user is another than that of the tests.
    await chmod(skills.path, 0o755);
    await mkdir(join(skills.path, 'greet'));
    const skill = '---\nname: greet\ndescription: greets people\n---\nSay ahoy to everybody.\n';
    await writeFile(join(skills.path, 'greet', 'SKILL.md'), skill);
    const folder = claude.available ? claude.folder : '';
    world = hostWorld({
      GEODE_RUNTIME_NAME: 'bubblewrap',
      GEODE_SECURITY_MOUNT_ROOTS: JSON.stringify([folder, skills.path]),
      GEODE_CLAUDE_FOLDER: folder,
      GEODE_CLAUDE_SKILLS: skills.path,
      GEODE_CLAUDE_UPSTREAM: server.url,
      GEODE_CLAUDE_MODEL: 'claude-sonnet-5-5',
      GEODE_CLAUDE_PERMISSIONS: 'ask',
      GEODE_CLAUDE_ALLOW: JSON.stringify(['Write', 'Skill', 'Bash(python3 *)']),
    });
    opened = await world.open();
    client = createClient(unixTransport(opened.socket.path));
    await client.secrets.set('anthropic', key);
  }, 240_000);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
    skills?.[Symbol.dispose]();
  }, 120_000);

  it('AGT-1, AGT-2, AGT-3, AGT-4: writes and runs a program, uses tools of the host, and has no interface and no key', async () => {
    steps['fizzbuzz, please'] = [
      {
        text: 'I write it.',
        calls: [
          { tool: 'Write', input: { file_path: '/workspace/fizz.py', content: 'print("fizzbuzz")\n' } },
        ],
      },
      { text: 'I run it.', calls: [bash('python3 fizz.py')] },
      {
        text: 'I remember it.',
        calls: [
          {
            tool: 'mcp__geode__memory_store',
            input: { content: 'fizzbuzz was written', category: 'project' },
          },
        ],
      },
      { thinking: 'Nothing is left to do.', text: 'It prints fizzbuzz.', pieceLength: 4 },
    ];
    const prompt = `fizzbuzz, please'; $(touch /workspace/pwned) \`id\` "EOF"\nEOF\n`;
    const attachments = [{ name: "a'; touch pwned;.txt", bytes: Buffer.from('EOF\n$(id)\n') }];
    const events = await send('one', prompt, attachments);
    expect(events.map(({ type }) => type).filter((type) => type !== 'text')).toEqual([
      'turn-start',
      ...['tool-call', 'tool-result', 'tool-call', 'tool-result', 'tool-call', 'tool-result'],
      ...['thinking', 'usage', 'file-change', 'result'],
    ]);
    expect(events.find(({ type }) => type === 'thinking')).toMatchObject({ text: 'Nothing is left to do.' });
    // The words of a person are data: they arrived as they were, and no shell has read them.
    expect(server.calls[0]?.prompt).toContain(prompt);
    expect(server.calls[0]?.prompt).toContain("[attached: attachments/a'; touch pwned;.txt]");
    const { files } = client.sandboxes.of('one');
    expect(await files.readText("attachments/a'; touch pwned;.txt")).toBe('EOF\n$(id)\n');
    expect(await files.exists('pwned')).toBe(false);
    expect(textOf(events)).toBe('I write it.I run it.I remember it.It prints fizzbuzz.');
    const results = events.flatMap((event) => (event.type === 'tool-result' ? [event] : []));
    expect(results.map(({ tool, failed }) => [tool, failed])).toEqual([
      ['Write', false],
      ['Bash', false],
      ['mcp__geode__memory_store', false],
    ]);
    expect(results[1]?.output).toBe('fizzbuzz');
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'file-change', path: 'fizz.py', change: 'added' }),
    );
    expect(events.at(-1)).toMatchObject({ outcome: 'done', text: 'It prints fizzbuzz.' });
    expect((await client.search('fizzbuzz', {})).results[0]).toMatchObject({
      content: 'fizzbuzz was written',
    });
    // The key was added outside; inside there is neither it nor a network.
    expect(server.calls.every(({ headers }) => headers['x-api-key'] === key)).toBe(true);
    const inside = await client.sandboxes
      .of('one')
      .exec({ argv: ['/bin/sh', '-c', 'env; cat /proc/*/environ | tr "\\0" "\\n"; cat /proc/net/dev'] });
    expect(inside.stdout).toContain('ANTHROPIC_API_KEY=geode-placeholder');
    expect(inside.stdout).not.toContain(key);
    expect(inside.stdout.match(/^ *\w+:(?= *\d)/gm)).toEqual([expect.stringContaining('lo:')]);
    expect(await client.egress.log({ verdict: 'denied' })).toEqual([]);
    expect((await client.egress.usage()).usage).toMatchObject([{ binding: 'anthropic', calls: 4 }]);
    const [usage] = events.flatMap((event) => (event.type === 'usage' ? [event] : []));
    expect(usage).toMatchObject({ model: 'claude-sonnet-5-5', usage: { inputTokens: 40 } });
    expect(usage?.cost).toBeGreaterThan(0);
  });

  it('AGT-1: one process holds many turns and has the skills of the operator; after its end the session is resumed', async () => {
    const greet = { tool: 'Skill', input: { skill: 'geode:greet' } };
    steps['the number is 41'] = [{ text: '', calls: [greet] }, { text: 'Noted.' }];
    steps['add one to it'] = [{ text: 'That is 42.' }];
    steps['and once more'] = [{ text: 'That is 43.' }];
    const begun = await send('two', 'the number is 41');
    expect(begun.find(({ type }) => type === 'tool-result')).toMatchObject({ tool: 'Skill', failed: false });
    expect(server.calls.at(-1)?.prompt).toContain('Say ahoy to everybody.');
    const [first] = await programsOf('two');
    await send('two', 'add one to it');
    expect(await programsOf('two')).toMatchObject([{ pid: first?.pid }]);
    expect(server.calls.at(-1)?.prompt).toMatch(/the number is 41[\s\S]*Noted\.[\s\S]*add one to it/);
    await client.sandboxes.stop('two');
    expect((await send('two', 'and once more')).at(-1)).toMatchObject({ text: 'That is 43.' });
    expect(server.calls.at(-1)?.prompt).toMatch(/the number is 41[\s\S]*42[\s\S]*once more/);
    expect(await client.agents.stop('two')).toBe(true);
    expect(await programsOf('two')).toEqual([]);
  });

  it('asks a person for what no rule allows: once, for the session, or not at all', async () => {
    steps['touch four files'] = [
      { text: '', calls: [bash('touch a.txt')] },
      { text: '', calls: [bash('touch b.txt')] },
      { text: '', calls: [bash('touch c.txt')] },
      { text: '', calls: [bash('touch d.txt')] },
      { text: 'Touched what I could.' },
    ];
    const answers: PermissionAnswer[] = ['deny', 'once', 'session'];
    const asked: unknown[] = [];
    const events: AgentEvent[] = [];
    for await (const event of client.agents.send(
      'three',
      { text: 'touch four files' },
      { driver: 'claude' },
    )) {
      events.push(event);
      if (event.type !== 'permission-request') continue;
      asked.push(event.input);
      const approval = await client.approvals.get(event.id);
      expect(approval.detail).toContain('touch ');
      await client.agents.answer('three', event.id, answers.shift() ?? 'deny');
    }
    expect(asked).toMatchObject([
      { command: 'touch a.txt' },
      { command: 'touch b.txt' },
      { command: 'touch c.txt' },
    ]);
    expect(events.flatMap((event) => (event.type === 'tool-result' ? [event.failed] : []))).toEqual([
      ...[true, false, false, false],
    ]);
    const changed = events.flatMap((event) => (event.type === 'file-change' ? [event.path] : []));
    expect(changed).toEqual(['b.txt', 'c.txt', 'd.txt']);
    expect(events.at(-1)).toMatchObject({ outcome: 'done' });
  });

  it('AGT-3: an interrupt is real: nothing of the turn runs afterwards, and the conversation goes on', async () => {
    steps['wait for long'] = [
      { text: '', calls: [bash('python3 -c "import time; print(1, flush=True); time.sleep(600)"')] },
    ];
    steps['are you there'] = [{ text: 'Yes.' }];
    const turn = send('four', 'wait for long');
    const look = async () => {
      const { processes } = await client.sandboxes.of('four').processes();
      return JSON.stringify(processes.map(({ children }) => children)).includes('time.sleep');
    };
    await eventually(() => look().catch(() => undefined), 'the command', 60_000);
    expect(await client.agents.interrupt('four')).toBe(true);
    expect((await turn).at(-1)).toMatchObject({ type: 'result', outcome: 'interrupted' });
    const { processes, disowned } = await client.sandboxes.of('four').processes();
    expect([processes.filter(({ state }) => state === 'running'), disowned]).toEqual([[], []]);
    expect((await send('four', 'are you there')).at(-1)).toMatchObject({ text: 'Yes.' });
    expect(server.calls.at(-1)?.prompt).toContain('wait for long');
  });

  it('an error of the model, and a program that is not there, are told with their reasons', async () => {
    steps['this will be refused'] = [{ status: 403 }];
    steps['better now'] = [{ text: 'Yes, better.' }];
    expect((await send('five', 'this will be refused')).at(-1)).toMatchObject({
      type: 'error',
      code: 'agent_failed',
      message: expect.stringContaining('403'),
    });
    expect((await send('five', 'better now')).at(-1)).toMatchObject({ text: 'Yes, better.' });
    // A sandbox that was made for something else shows no folder with the program.
    await client.sandboxes.getOrCreate('six');
    expect((await send('six', 'better now')).at(-1)).toMatchObject({
      type: 'error',
      code: 'agent_unavailable',
    });
  });

  async function send(
    chat: string,
    text: string,
    attachments: readonly Attachment[] = [],
  ): Promise<readonly AgentEvent[]> {
    const events: AgentEvent[] = [];
    const turn = client.agents.send(chat, { text, attachments }, { driver: 'claude' });
    for await (const event of turn) events.push(event);
    return events;
  }

  async function programsOf(chat: string) {
    const { processes } = await client.sandboxes.of(chat).processes();
    return processes.filter(({ state, argv }) => state === 'running' && argv[0]?.endsWith('/claude'));
  }
});

function textOf(events: readonly AgentEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('');
}
