import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import type { AgentEvent } from '../../src/core/agent.ts';
import { eventually } from '../contracts/harness.ts';
import { codex as fetchCodex } from '../fixtures/agent-programs.ts';
import { agentScript } from '../fixtures/model-server/agent-script.ts';
import { type ModelServer, type Reply, startModelServer } from '../fixtures/model-server/model-server.ts';
import { type HostWorld, hostWorld } from '../host/world.ts';

const { bubblewrap } = inject('engines');
const codex = bubblewrap.available ? await fetchCodex() : bubblewrap;
const skipped = codex.available ? '' : ` (skipped: ${codex.reason})`;
const key = `sk-${randomUUID()}`;
const shell = (cmd: string) => ({ tool: 'exec_command', input: { cmd } });

describe.skipIf(!codex.available)(`Codex in a sandbox${skipped}`, { timeout: 240_000 }, () => {
  let server: ModelServer;
  let world: HostWorld;
  let client: GeodeClient;
  const steps: Record<string, readonly Reply[]> = {};

  beforeAll(async () => {
    server = await startModelServer(agentScript(steps));
    const folder = codex.available ? codex.folder : '';
    world = hostWorld({
      GEODE_RUNTIME_NAME: 'bubblewrap',
      GEODE_SECURITY_MOUNT_ROOTS: JSON.stringify([folder]),
      GEODE_CODEX_FOLDER: folder,
      GEODE_CODEX_UPSTREAM: `${server.url}/v1`,
    });
    const { socket } = await world.open();
    client = createClient(unixTransport(socket.path));
    await client.secrets.set('openai', key);
  }, 240_000);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  }, 120_000);

  it('writes and runs a program without a network or a key, and its session is resumed', async () => {
    steps['fizzbuzz, please'] = [
      { text: 'I write it.', calls: [shell('echo \'print("fizz" + "buzz")\' > fizz.py; python3 fizz.py')] },
      { text: 'It prints fizzbuzz.' },
    ];
    const events = await send('one', "fizzbuzz, please'; $(touch pwned)");
    expect(events.map(({ type }) => type)).toEqual([
      ...['turn-start', 'text', 'tool-call', 'tool-result', 'text', 'usage', 'file-change', 'result'],
    ]);
    expect(events.find(({ type }) => type === 'tool-result')).toMatchObject({
      tool: 'shell',
      output: expect.stringContaining('fizzbuzz'),
      failed: false,
    });
    expect(events.find(({ type }) => type === 'file-change')).toMatchObject({ path: 'fizz.py' });
    expect(events.at(-1)).toMatchObject({ outcome: 'done', text: 'It prints fizzbuzz.' });
    expect(server.calls.every(({ headers }) => headers.authorization === `Bearer ${key}`)).toBe(true);
    expect(await client.egress.log({ verdict: 'denied' })).toEqual([]);

    steps['and what was it'] = [{ text: 'It was fizzbuzz.' }];
    expect((await send('one', 'and what was it')).at(-1)).toMatchObject({ text: 'It was fizzbuzz.' });
    expect(server.calls.at(-1)?.prompt).toMatch(/fizzbuzz, please[\s\S]*and what was it/);
  });

  it('an interrupt ends everything that the turn runs', async () => {
    steps['wait for long'] = [{ text: '', calls: [shell('python3 -c "import time; time.sleep(600)"')] }];
    const turn = send('two', 'wait for long');
    const look = async () => {
      const { processes } = await client.sandboxes.of('two').processes();
      return JSON.stringify(processes.map(({ children }) => children)).includes('time.sleep');
    };
    await eventually(() => look().catch(() => undefined), 'the command', 60_000);
    expect(await client.agents.interrupt('two')).toBe(true);
    expect((await turn).at(-1)).toMatchObject({ type: 'result', outcome: 'interrupted' });
    const { processes, disowned } = await client.sandboxes.of('two').processes();
    expect([processes.filter(({ state }) => state === 'running'), disowned]).toEqual([[], []]);
  });

  async function send(chat: string, text: string): Promise<readonly AgentEvent[]> {
    const events: AgentEvent[] = [];
    for await (const event of client.agents.send(chat, { text }, { driver: 'codex' })) events.push(event);
    return events;
  }
});
