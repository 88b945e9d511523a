import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { AgentEvent } from '../../src/seams/agent.ts';
import { type ModelServer, type Reply, startModelServer } from '../fixtures/model-server/model-server.ts';
import { patience, patiently, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

describe.skipIf(!bubblewrap.available)(`geode agent${skipped}`, patience, () => {
  let server: ModelServer;
  let home: SandboxHome;
  const replies: Reply[] = [];

  beforeAll(async () => {
    server = await startModelServer(() => replies.shift() ?? { status: 500, body: 'nothing is scripted' });
    home = await sandboxHome({
      GEODE_RUNTIME_NAME: 'bubblewrap',
      GEODE_PROVIDERS_SERVICES: JSON.stringify({
        scripted: { kind: 'openai-compatible', base_url: `${server.url}/v1`, api_key: 'a-key' },
      }),
      GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
      GEODE_PROVIDERS_RETRIES: '0',
    });
  }, 120_000);
  afterAll(async () => {
    await home?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  }, 120_000);

  it('prints the answer to stdout and tool calls to stderr, and continues the conversation', async () => {
    replies.push(
      { text: '', calls: [{ tool: 'shell', input: { command: 'cat attachments/data.csv | tee copy.csv' } }] },
      { text: 'Two rows.' },
    );
    await writeFile(join(home.folder, 'data.csv'), 'a,b\n1,2\n');
    const { code, stdout, stderr } = await home.run(['agent', '-f', 'data.csv', '-m', 'what is in it?']);
    expect(stdout, stderr).toBe('Two rows.\n');
    expect(code).toBe(0);
    expect(stderr).toMatch(/shell .*tee copy\.csv/);
    expect(stderr).toContain('a,b');
    expect(stderr).toContain('added copy.csv');
    expect(stderr).toContain('done (');

    replies.push({ text: 'A file.' });
    expect(await home.ok(['agent', '-q', '-m', 'what was it?'])).toBe('A file.\n');
    const lines = (await home.ok(['agent', 'log', 'agent', '--json'])).trim().split('\n');
    const events = lines.map((line): AgentEvent => JSON.parse(line));
    expect(events[0]).toMatchObject({ type: 'turn-start', message: 'what is in it?' });
    const after = String(events.at(-2)?.seq);
    const rest = await home.ok(['agent', 'log', 'agent', '--json', '--after', after]);
    expect(JSON.parse(rest)).toEqual(events.at(-1));
  });

  it('AGT-7: geode replay lists the turns of a chat, shows the first difference, and tries another model on all of them', async () => {
    const model = ['--model', 'scripted/other'];
    replies.push(
      {
        text: '',
        calls: [{ tool: 'shell', input: { command: 'echo 1 > one.txt; cat /proc/sys/kernel/random/uuid' } }],
      },
      { text: 'Made.' },
    );
    await home.ok(['agent', '--chat', 'again', '-q', '-m', 'make one']);
    expect(await home.ok(['replay', 'again'])).toMatch(/TURN +DRIVER[^\n]*\n\w{8} +builtin +done .*make one/);
    const again = await home.run(['replay', 'again', 'last']);
    expect(again.code, again.stderr).toBe(1);
    expect(again.stdout).toMatch(/First difference: the result of call 1 \(shell\)\n +recorded \| [\w-]{36}/);
    expect(again.stdout).toContain('one.txt: same');
    replies.push(
      { text: '', calls: [{ tool: 'shell', input: { command: 'echo 2 > one.txt' } }] },
      { text: 'Made another.' },
    );
    const other = await home.run(['replay', 'again', 'last', ...model]);
    expect(other.code, other.stderr).toBe(0);
    expect(other.stdout).toMatch(/Another outcome\.[\s\S]*one\.txt: differs[\s\S]*\+1[\s\S]*\+2/);
    replies.push({ status: 400 });
    const all = await home.run(['replay', '--all', '--most', '1', ...model]);
    expect(all.stdout).toMatch(/CHAT +TURN +OUTCOME[\s\S]*again +\w{8} +worse[\s\S]*1 turn: 1 worse/);
    expect(all.code).toBe(1);
    expect((await home.run(['replay', '--all'])).stderr).toContain('needs a model');
    expect((await home.run(['replay', 'nowhere'])).stderr).toContain('has no ended turn');
  });

  it('after kill -9 of the host in mid-turn another host continues, and sends each event once', async () => {
    const { promise: never } = Promise.withResolvers<void>();
    const calls = server.calls.length;
    replies.push(
      { text: 'One.', calls: [{ tool: 'shell', input: { command: 'echo done > one.txt' } }] },
      { text: 'never said', hold: never },
      { text: 'The end.' },
    );
    const child = home.start('agent', '--chat', 'crash', '-m', 'go');
    await patiently(async () => server.calls.length === calls + 2, 'the second call');
    process.kill((await home.host()).pid, 'SIGKILL');
    child.kill('SIGKILL');
    const events = await patiently(async () => {
      const lines = (await home.ok(['agent', 'log', 'crash', '--json'])).trim().split('\n');
      const all = lines.map((line): AgentEvent => JSON.parse(line));
      return all.at(-1)?.type === 'result' && all;
    }, 'the end of the turn');
    expect(events.map(({ type }) => type)).toEqual([
      ...['turn-start', 'text', 'usage', 'tool-call', 'tool-result', 'turn-resume', 'text', 'usage'],
      ...['file-change', 'result'],
    ]);
    expect(events.at(-1)).toMatchObject({ outcome: 'done', text: 'The end.' });
    expect(server.calls).toHaveLength(calls + 3);
  });

  it('a command interrupted by the kill of its host gets a result that reports it', async () => {
    const command = 'touch begun; while :; do sleep 1; done';
    replies.push({ text: '', calls: [{ tool: 'shell', input: { command } }] }, { text: 'I looked.' });
    const child = home.start('agent', '--chat', 'under-way', '-m', 'go');
    await patiently(async () => {
      const { code } = await home.run(['sandbox', 'exec', 'under-way', '--', 'test', '-e', 'begun']);
      return code === 0;
    }, 'the command');
    process.kill((await home.host()).pid, 'SIGKILL');
    child.kill('SIGKILL');
    const events = await patiently(async () => {
      const lines = (await home.ok(['agent', 'log', 'under-way', '--json'])).trim().split('\n');
      const all = lines.map((line): AgentEvent => JSON.parse(line));
      return all.at(-1)?.type === 'result' && all;
    }, 'the end of the turn');
    const [call] = events.flatMap((event) => (event.type === 'tool-call' ? [event] : []));
    const results = events.flatMap((event) => (event.type === 'tool-result' ? [event] : []));
    expect(results).toHaveLength(1);
    expect(results[0]).toMatchObject({
      ...{ id: call?.id, tool: 'shell', failed: true },
      output: expect.stringContaining('The host ended during this call'),
    });
  });

  it('reports wrong usage, a missing conversation and a failed provider', async () => {
    expect((await home.run(['agent'])).stderr).toContain('needs a message');
    const unknown = await home.run(['agent', '--driver', 'nobody', '-m', 'x']);
    expect(unknown.code).toBe(2);
    const missing = await home.run(['agent', 'log', 'nowhere']);
    expect(missing.stderr).toContain('has no conversation');
    replies.push({ status: 400 });
    const failed = await home.run(['agent', '--chat', 'bad', '-m', 'x']);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('provider_failed');
  });
});
