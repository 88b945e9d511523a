import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { localUser } from '../../src/base/identity.ts';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import type { AgentEvent } from '../../src/seams/agent.ts';
import { agentFailures, agentForks, agentTurns } from '../contracts/agent-driver.ts';
import { eventually } from '../contracts/harness.ts';
import { type ModelServer, type Reply, startModelServer } from '../fixtures/model-server/model-server.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';
import { builtinScene } from './scenes.ts';
import { all, shapesOf, textOf } from './stage.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;
const patience = { timeout: 180_000 };
const scene = builtinScene(inject('engines'), 'bubblewrap');

agentTurns(scene, (stage) => {
  agentForks(scene, stage);
  agentFailures(scene, stage);
});

describe.skipIf(!bubblewrap.available)(`the built-in agent${skipped}`, patience, () => {
  let server: ModelServer;
  let world: HostWorld;
  let opened: OpenedHost;
  let client: GeodeClient;
  /** The model's next answers, in order. */
  const replies: Reply[] = [];

  beforeAll(async () => {
    server = await startModelServer(() => replies.shift() ?? { status: 500, body: 'nothing is scripted' });
    world = hostWorld(settingsOf(server.url));
    opened = await world.open();
    client = createClient(unixTransport(opened.socket.path));
  }, 120_000);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  }, 120_000);

  it("AGT-3: runs the model's tool calls in the sandbox of the chat, and emits every step as a numbered event", async () => {
    replies.push(
      {
        text: 'I write it and run it.',
        pieceLength: 5,
        calls: [
          { tool: 'write_file', input: { path: 'fizz.py', content: 'print("fizz")\n' } },
          { tool: 'shell', input: { command: 'python3 fizz.py; cat attachments/note.txt; ls /nowhere' } },
          { tool: 'memory_store', input: { content: 'The chat one likes fizz.' } },
        ],
        usage: { input: 1000, output: 100 },
      },
      { text: 'It prints fizz.', usage: { input: 2000, cached: 1000, output: 10 } },
    );
    const note = { name: 'note.txt', bytes: Buffer.from('from a person') };
    const events = await all(client.agents.send('one', { text: 'fizz, please', attachments: [note] }));
    expect(shapesOf(events)).toEqual([
      'turn-start',
      'text',
      'usage',
      ...['tool-call', 'tool-call', 'tool-call'],
      ...['tool-result', 'tool-result', 'tool-result'],
      'text',
      'usage',
      'file-change',
      'result',
    ]);
    expect(events.map(({ seq }) => seq)).toEqual(events.map(({ seq }) => seq).toSorted((a, b) => a - b));
    expect(textOf(events)).toBe('I write it and run it.It prints fizz.');
    expect(events.filter(({ type }) => type === 'text').length).toBeGreaterThan(3);
    const shell = events.find((event) => event.type === 'tool-result' && event.tool === 'shell');
    expect(shell).toMatchObject({
      output: expect.stringMatching(/fizz\nfrom a person[\s\S]*--- stderr ---[\s\S]*\[Exit code: 2\]/),
      failed: false,
    });
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'file-change', path: 'fizz.py', change: 'added' }),
    );
    // The attachment was there before the turn.
    expect(JSON.stringify(events)).not.toContain('"path":"attachments');
    expect(events.at(-1)).toMatchObject({
      type: 'result',
      outcome: 'done',
      text: 'It prints fizz.',
      usage: { inputTokens: 3000, cachedTokens: 1000, outputTokens: 110 },
      cost: (2000 * 2 + 1000 + 110 * 4) / 1e6,
    });
    const memory = await client.search('fizz', {});
    expect(memory.results[0]).toMatchObject({ content: 'The chat one likes fizz.', sources: ['chat:one'] });
    expect(await client.sandboxes.of('one').files.readText('fizz.py')).toBe('print("fizz")\n');
    // A reader catches up from any number.
    const middle = events[4]?.seq ?? 0;
    expect(await all(client.agents.events('one', { after: middle }))).toEqual(events.slice(5));
    await client.sandboxes.of('one').snapshots.undo();
    expect(await client.sandboxes.of('one').files.exists('fizz.py')).toBe(false);
  });

  it('continues a conversation, and runs a repeated message only once', async () => {
    replies.push({ text: 'Hello.' }, { text: 'You said hello.' });
    await all(client.agents.send('two', { text: 'hello to you' }));
    const message = { text: 'what did I say?', mark: 'message-7' };
    const first = await all(client.agents.send('two', message));
    expect(server.calls.at(-1)?.prompt).toMatch(/hello to you[\s\S]*Hello\.[\s\S]*what did I say/);
    const calls = server.calls.length;
    expect(await all(client.agents.send('two', message))).toEqual(first);
    expect(server.calls).toHaveLength(calls);
    expect(await client.agents.get('two')).toMatchObject({ driver: 'builtin', state: 'idle', turns: 2 });
    expect((await client.agents.list()).map(({ chat }) => chat)).toContain('two');
    expect(await client.agents.stop('two')).toBe(true);
    await expect(client.agents.get('two')).rejects.toMatchObject({ code: 'agent_not_found' });
    expect(await client.agents.stop('two')).toBe(false);
  });

  it('a turn continues on the host when its reader disconnects', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    replies.push({ text: 'Late, but whole.', hold: promise });
    for await (const event of client.agents.send('four', { text: 'take your time' })) {
      expect(event.type).toBe('turn-start');
      break;
    }
    resolve();
    const follow = client.agents.events('four', { follow: true, signal: AbortSignal.timeout(60_000) });
    const seen: AgentEvent[] = [];
    for await (const event of follow) {
      seen.push(event);
      if (event.type === 'result') break;
    }
    expect(seen.at(-1)).toMatchObject({ outcome: 'done', text: 'Late, but whole.' });
  });

  it('reports a failing tool and a failing model, with the code and the reason', async () => {
    replies.push(
      {
        text: '',
        calls: [
          { tool: 'no_such_tool', input: {} },
          { tool: 'read_file', input: { path: 'missing.txt' } },
          { tool: 'shell', input: { command: 'rm -rf /' } },
          { tool: 'shell', input: { wrong: true } },
        ],
      },
      { status: 401 },
    );
    const events = await all(client.agents.send('five', { text: 'fail' }));
    const outputs = events.flatMap((event) => (event.type === 'tool-result' ? [event] : []));
    expect(outputs.map(({ failed }) => failed)).toEqual([true, true, true, true]);
    expect(outputs.map(({ output }) => output).join('\n')).toMatch(
      /There is no tool[\s\S]*file_not_found[\s\S]*command_blocked[\s\S]*not valid/,
    );
    expect(events.at(-1)).toMatchObject({ type: 'error', code: 'provider_refused' });
    replies.push({ text: 'Better now.' });
    expect((await all(client.agents.send('five', { text: 'again' }))).at(-1)).toMatchObject({
      outcome: 'done',
    });
  });

  it('redacts secrets in its events, also a secret split over several pieces', async () => {
    const secret = `sk-ant-${'a1b2'.repeat(12)}`;
    replies.push(
      {
        text: `The key is ${secret} I think.`,
        pieceLength: 4,
        calls: [{ tool: 'shell', input: { command: `echo ${secret}` } }],
      },
      { text: 'Done.' },
    );
    const events = await all(client.agents.send('six', { text: 'tell me' }));
    expect(JSON.stringify(events)).not.toContain(secret.slice(0, 14));
    expect(textOf(events)).toBe('The key is [redacted] I think.Done.');
    expect(events.at(-1)).toMatchObject({ type: 'result', outcome: 'done' });
  });

  it('refuses invalid requests before the turn starts', async () => {
    const refused = (options: object, message = { text: 'hello' }) =>
      expect(all(client.agents.send('seven', message, options))).rejects;
    await refused({ model: 'nobody/nothing' }).toMatchObject({ code: 'no_provider' });
    await refused({}, { text: '  ' }).toMatchObject({ code: 'invalid_input' });
    const attachments = [{ name: '../x', bytes: new Uint8Array(1) }];
    await refused({}, { text: 'x', ...{ attachments } }).toMatchObject({ code: 'invalid_input' });
    await expect(client.agents.get('seven')).rejects.toMatchObject({ code: 'agent_not_found' });
    replies.push({ text: 'Hi.' });
    await all(client.agents.send('seven', { text: 'hello' }));
    await refused({ driver: 'claude' }).toMatchObject({ code: 'agent_mismatch' });
    await refused({ model: 'scripted/other' }).toMatchObject({ code: 'agent_mismatch' });
    const bob = client.as('bob');
    for (const work of [
      () => bob.agents.get('seven'),
      () => all(bob.agents.events('seven')),
      () => bob.agents.interrupt('seven'),
      () => bob.agents.answer('seven', 'x', 'once'),
    ])
      await expect(work()).rejects.toMatchObject({ code: 'agent_not_found' });
    expect(await bob.agents.list()).toEqual([]);
    expect(await bob.agents.stop('seven')).toBe(false);
    expect(await client.agents.get('seven')).toMatchObject({ turns: 1 });
  });

  it('requests an answer again after its connection was cut, with an event', async () => {
    replies.push(
      { text: 'Half of it is lost.', pieceLength: 5, everyMs: 20, cutAfter: 2 },
      { text: 'All of it is here.' },
    );
    const events = await all(client.agents.send('cut', { text: 'say something' }));
    expect(shapesOf(events)).toEqual(['turn-start', 'text', 'answer-restart', 'text', 'usage', 'result']);
    expect(events.at(-1)).toMatchObject({ outcome: 'done', text: 'All of it is here.' });
  });

  it('while a chat is copied, its new chat takes no message; afterwards it continues the conversation', async () => {
    replies.push({ text: 'Noted.' });
    await all(client.agents.send('original', { text: 'note this' }));
    const own = opened.host.agents.of(localUser);
    const copying = own.fork('original', 'copied');
    await expect(all(own.send('copied', { text: 'go on' }))).rejects.toMatchObject({ code: 'agent_busy' });
    expect(await copying).toMatchObject({ chat: 'copied', turns: 1 });
    replies.push({ text: 'I go on.' });
    const events = await all(own.send('copied', { text: 'go on' }));
    expect(events.at(-1)).toMatchObject({ outcome: 'done', text: 'I go on.' });
  });

  it('the next host continues a turn where the ended host left it', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    replies.push(
      { text: 'First a file.', calls: [{ tool: 'write_file', input: { path: 'a.txt', content: 'a' } }] },
      { text: 'never said', hold: promise },
      { text: 'Finished by another host.' },
    );
    const calls = server.calls.length;
    const reading = all(client.agents.send('eight', { text: 'write a file' }));
    const failed = expect(reading).rejects.toMatchObject({ code: 'stopping' });
    await eventually(async () => server.calls.length === calls + 2, 'the second call', 60_000);
    await opened[Symbol.asyncDispose]();
    await failed;
    resolve();
    opened = await world.open();
    client = createClient(unixTransport(opened.socket.path));
    const last = await eventually(
      async () => {
        const events = await all(client.agents.events('eight'));
        return events.at(-1)?.type === 'result' && events;
      },
      'the end of the turn',
      60_000,
    );
    expect(shapesOf(last)).toEqual([
      ...['turn-start', 'text', 'usage', 'tool-call', 'tool-result'],
      ...['turn-resume', 'text', 'usage', 'file-change', 'result'],
    ]);
    expect(last.at(-1)).toMatchObject({ outcome: 'done', text: 'Finished by another host.' });
    // Paid answers are not requested again.
    expect(server.calls).toHaveLength(calls + 3);
  });
});

function settingsOf(url: string): Readonly<Record<string, string>> {
  return {
    GEODE_RUNTIME_NAME: 'bubblewrap',
    GEODE_PROVIDERS_SERVICES: JSON.stringify({
      scripted: { kind: 'anthropic', base_url: `${url}/v1`, api_key: 'the-key-of-the-provider' },
    }),
    GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
    GEODE_PROVIDERS_RETRIES: '1',
    GEODE_AGENTS_DANGEROUS: 'refuse',
    GEODE_PROVIDERS_PRICES: JSON.stringify({ 'some-model': { input: 2, output: 4, cached: 1 } }),
  };
}
