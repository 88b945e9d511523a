import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import OpenAI, { APIError } from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import type { Scope } from '../../src/contract/keys.ts';
import { builtinScene } from '../agents/scenes.ts';
import { eventually } from '../contracts/harness.ts';
import { type ModelServer, type Reply, startModelServer } from '../fixtures/model-server/model-server.ts';
import { pythonPackages } from '../fixtures/python-packages.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;
const python = await pythonPackages('openai==3.51.0');
const noPython = python.available ? '' : ` (skipped: ${python.reason})`;
const scene = builtinScene(inject('engines'), 'bubblewrap', { GEODE_AGENTS_PERMISSIONS: 'all' });
const inExamples = (name: string) => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));
const user = (content: string) => ({ role: 'user' as const, content });
const assistant = (content: string) => ({ role: 'assistant' as const, content });

describe.skipIf(!bubblewrap.available)(`OpenAI's clients${skipped}`, { timeout: 180_000 }, () => {
  let server: ModelServer;
  let world: HostWorld;
  let opened: OpenedHost;
  /** The model's next answers, in order. */
  const replies: Reply[] = [];

  beforeAll(async () => {
    server = await startModelServer(() => replies.shift() ?? { status: 400, body: 'nothing is scripted' });
    world = hostWorld(scene.settings(server));
    opened = await world.open();
  }, 120_000);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  }, 120_000);
  // Answers that a failed test has left are not those of the next one.
  beforeEach(() => void replies.splice(0));
  const client = (name: string, scopes: readonly Scope[] = ['agents'], defaultHeaders = {}) =>
    new OpenAI({
      baseURL: `${opened.gateway.url}/v1`,
      apiKey: opened.host.keys.create({ user: name, scopes }).secret,
      defaultHeaders,
    });
  const chatsOf = (name: string) => opened.host.agents.of(name).list();
  const errorOf = async (asking: Promise<unknown>) => {
    const error = await asking.then(
      () => undefined,
      (thrown) => thrown,
    );
    if (error instanceof APIError) return error;
    throw new Error('The request was answered', { cause: error });
  };

  it('DR-3: lists the agents as models, also under their encoded names', async () => {
    const own = client('models');
    const names = (await own.models.list()).data.map(({ id }) => id);
    expect(names).toEqual(['geode', 'geode/builtin', 'geode/claude', 'geode/codex']);
    expect(await own.models.retrieve('geode/builtin')).toMatchObject({
      id: 'geode/builtin',
      object: 'model',
    });
    expect(await errorOf(own.models.retrieve('gpt-5'))).toMatchObject({ status: 404, param: 'model' });
  });

  it('DR-3: streams thinking, text and tool calls of a turn, then its usage', async () => {
    replies.push(
      {
        text: 'I write it.',
        thinking: 'A file is needed.',
        pieceLength: 4,
        calls: [
          { tool: 'write_file', input: { path: 'a.txt', content: 'x' } },
          { tool: 'shell', input: { command: `echo "<b>'&"` } },
        ],
        usage: { input: 100, output: 10 },
      },
      { text: 'Done.', usage: { input: 200, cached: 100, output: 5 } },
    );
    const stream = client('streamer').chat.completions.stream({
      model: 'geode/builtin',
      messages: [user('write a file')],
      stream_options: { include_usage: true },
    });
    const thoughts: string[] = [];
    for await (const { choices } of stream) {
      const delta = choices[0]?.delta;
      if (delta && 'reasoning_content' in delta) thoughts.push(String(delta.reasoning_content));
    }
    expect(thoughts.join('')).toBe('A file is needed.');
    const { choices, usage } = await stream.finalChatCompletion();
    const content = choices[0]?.message.content ?? '';
    expect(content).toMatch(/^I write it\.\n\n<details type="tool_calls" done="true" id="/);
    expect(content).toContain('name="shell" arguments="{&quot;command&quot;:&quot;echo');
    expect(content).toContain('&lt;b&gt;');
    expect(content).not.toContain('<b>');
    expect(content).toMatch(/<\/details>\n\nDone\.\n\n<details [^>]*name="changed files"[^>]*added a\.txt/);
    expect(choices[0]?.finish_reason).toBe('stop');
    expect(usage).toMatchObject({ prompt_tokens: 300, completion_tokens: 15, total_tokens: 315 });
    expect(usage?.prompt_tokens_details?.cached_tokens).toBe(100);
    const [chat] = chatsOf('streamer');
    expect(chat).toMatchObject({ driver: 'builtin', turns: 1, state: 'idle' });
  });

  it('DR-3: continues the chat whose history is sent again, and begins another for a different one', async () => {
    const own = client('historian');
    const ask = async (...messages: OpenAI.ChatCompletionMessageParam[]) =>
      (await own.chat.completions.create({ model: 'geode', messages })).choices[0]?.message.content ?? '';
    replies.push(
      { text: 'Hello.', calls: [{ tool: 'shell', input: { command: 'echo 1 > one' } }] },
      { text: 'I am here.' },
    );
    const system = { role: 'system' as const, content: 'Be short.' };
    const first = await ask(system, user('hi'));
    expect(server.calls.at(-1)?.prompt).toContain('Be short.');
    replies.push({ text: 'Still here.' });
    const second = await ask(system, user('hi'), assistant(first), user('and now?'));
    expect(chatsOf('historian')).toMatchObject([{ turns: 2 }]);
    replies.push({ text: 'Three.' });
    await ask(
      user('hi'),
      assistant(`  ${first.replaceAll('\n', ' ')}`),
      user('and now?'),
      assistant(second),
      user('3?'),
    );
    expect(chatsOf('historian')).toMatchObject([{ turns: 3 }]);
    replies.push({ text: 'Another.' });
    await ask(user('hi'), assistant('Something that was never said.'), user('and now?'));
    expect(chatsOf('historian').map(({ turns }) => turns)).toEqual([1, 3]);
    expect(server.calls.at(-1)?.prompt).toContain('assistant: Something that was never said.');
  });

  it('DR-3: a chat id, a session id and a conversation name the chat', async () => {
    for (const [index, header] of ['X-OpenWebUI-Chat-Id', 'X-Session-Id'].entries()) {
      const own = client('namer', ['agents'], { [header]: `chat-${index}` });
      for (const question of ['one', 'two']) {
        replies.push({ text: 'Yes.' });
        await own.chat.completions.create({ model: 'geode', messages: [user(question)] });
      }
    }
    const own = client('namer');
    const conversation = await own.conversations.create();
    for (const input of ['one', 'two']) {
      replies.push({ text: 'Yes.' });
      const response = await own.responses.create({ model: 'geode', input, conversation: conversation.id });
      expect(response.conversation).toEqual({ id: conversation.id });
    }
    const named = chatsOf('namer').map(({ chat, turns }) => [chat, turns]);
    expect(named).toEqual([
      [conversation.id, 2],
      ['chat-1', 2],
      ['chat-0', 2],
    ]);
  });

  it('DR-3: responses stream their items in order, and the newest can be continued', async () => {
    const own = client('responder');
    replies.push({ text: 'The answer is 42.', thinking: 'Let me see.', pieceLength: 6 });
    const stream = own.responses.stream({ model: 'geode', input: 'what is it?', instructions: 'Be exact.' });
    const types: string[] = [];
    const numbers: number[] = [];
    for await (const event of stream) {
      if (types.at(-1) !== event.type) types.push(event.type);
      numbers.push(event.sequence_number);
    }
    expect(numbers).toEqual(numbers.map((_, index) => index));
    const part = (item: string, delta: string) => [
      'response.output_item.added',
      `response.${item}.added`,
      `response.${delta}.delta`,
      `response.${delta}.done`,
      `response.${item}.done`,
      'response.output_item.done',
    ];
    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      ...part('reasoning_summary_part', 'reasoning_summary_text'),
      ...part('content_part', 'output_text'),
      'response.completed',
    ]);
    const first = await stream.finalResponse();
    expect(first).toMatchObject({ status: 'completed', output_text: 'The answer is 42.' });
    expect(first.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
    replies.push({ text: 'Because.' });
    const more = { model: 'geode', input: 'why?', previous_response_id: first.id };
    const second = await own.responses.create(more);
    expect(second).toMatchObject({ output_text: 'Because.', previous_response_id: first.id });
    expect(server.calls.at(-1)?.prompt).toMatch(/Be exact[\s\S]*what is it\?[\s\S]*42[\s\S]*why\?/);
    expect(chatsOf('responder')).toMatchObject([{ turns: 2 }]);
    expect(await errorOf(own.responses.create(more))).toMatchObject({
      status: 400,
      param: 'previous_response_id',
      message: expect.stringContaining('Only the newest'),
    });
    expect(
      await errorOf(client('thief').responses.create({ ...more, previous_response_id: second.id })),
    ).toMatchObject({ status: 404 });
  });

  it('DR-3: files and images of the newest message are in the workspace', async () => {
    const own = client('sender', ['agents'], { 'X-Session-Id': 'files' });
    replies.push({ text: 'Seen.' });
    const data = Buffer.from('the bytes').toString('base64');
    await own.chat.completions.create({
      model: 'geode',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
            { type: 'file', file: { filename: '../notes.txt', file_data: `data:text/plain;base64,${data}` } },
          ],
        },
      ],
    });
    const sandbox = await opened.host.sandboxes.of('sender').start('files');
    const names = (await sandbox.files.list('attachments')).entries.map(({ path }) => path);
    expect(names.toSorted()).toEqual([
      '/workspace/attachments/.._notes.txt',
      '/workspace/attachments/image-2.png',
    ]);
    const elsewhere = { type: 'image_url' as const, image_url: { url: 'https://example.com/a.png' } };
    const refused = own.chat.completions.create({
      model: 'geode',
      messages: [{ role: 'user', content: [elsewhere] }],
    });
    expect(await errorOf(refused)).toMatchObject({
      status: 400,
      message: expect.stringContaining('data URL'),
    });
  });

  it('DR-3: a client that stops reading ends the turn, and the next message continues the chat', async () => {
    const own = client('stopper', ['agents'], { 'X-Session-Id': 'stopped' });
    replies.push({ text: 'I wait.', calls: [{ tool: 'shell', input: { command: 'sleep 600' } }] });
    const stream = await own.chat.completions.create({
      model: 'geode',
      messages: [user('go')],
      stream: true,
    });
    for await (const { choices } of stream) if (choices[0]?.delta.content) break;
    await eventually(async () => chatsOf('stopper')[0]?.state === 'idle', 'the end of the turn');
    const [turn] = opened.host.agents.of('stopper').transcript('stopped');
    expect(turn?.events.at(-1)).toMatchObject({ type: 'result', outcome: 'interrupted' });
    replies.push({ text: 'On again.' });
    const { choices } = await own.chat.completions.create({ model: 'geode', messages: [user('go on')] });
    expect(choices[0]?.message.content).toBe('On again.');
  });

  it('DR-3: a failed turn is an error in the shape of OpenAI, and no client sends it again', async () => {
    const own = client('failer', ['agents'], { 'X-Session-Id': 'failing' });
    const calls = server.calls.length;
    const asked = { model: 'geode', messages: [user('fail')] };
    const error = await errorOf(own.chat.completions.create(asked));
    expect(error.headers?.get('x-should-retry')).toBe('false');
    expect(error.error).toMatchObject({ type: expect.any(String), code: expect.any(String) });
    expect(server.calls.length).toBe(calls + 1);
    const stream = await own.chat.completions.create({ ...asked, stream: true });
    const reading = (async () => {
      for await (const _chunk of stream);
    })();
    expect((await errorOf(reading)).message).toContain(error.message.replace(/^\d+ /, '').slice(0, 20));
    const events = [];
    for await (const event of await own.responses.create({ model: 'geode', input: 'fail', stream: true }))
      events.push(event);
    expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'failed' } });
  });

  it('DR-3: refuses unsupported request fields with the reason', async () => {
    const own = client('refused');
    const messages = [user('hi')];
    const wrong: [Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>, string][] = [
      [{ n: 2 }, 'n'],
      [{ logprobs: true }, 'logprobs'],
      [{ response_format: { type: 'json_object' } }, 'response_format'],
      [{ model: 'gpt-5' }, 'model'],
      [{ messages: [assistant('hi')] }, 'messages'],
    ];
    for (const [more, param] of wrong)
      expect(
        await errorOf(own.chat.completions.create({ model: 'geode', messages, ...more })),
        param,
      ).toMatchObject({
        param,
        type: 'invalid_request_error',
      });
    const missing = own.post('/no/such/route');
    expect(await errorOf(missing)).toMatchObject({ status: 404, code: 'route_not_found' });
    expect(chatsOf('refused')).toEqual([]);
  });

  it('DR-5: a key needs the scope agents, and may act for people only with the scope users', async () => {
    const asked = { model: 'geode', messages: [user('who am I?')] };
    expect(await errorOf(client('reader', ['sandboxes:write']).models.list())).toMatchObject({ status: 403 });
    const wrong = new OpenAI({ baseURL: `${opened.gateway.url}/v1`, apiKey: 'geode_wrong' });
    expect(await errorOf(wrong.models.list())).toMatchObject({ status: 401, code: 'invalid_api_key' });
    const named = (name: string) => ({ 'X-OpenWebUI-User-Id': name, 'X-Session-Id': 'same' });
    const plain = client('webui', ['agents'], named('ann'));
    expect(await errorOf(plain.models.list())).toMatchObject({
      status: 403,
      message: expect.stringContaining('scope users'),
    });
    for (const name of ['ann', 'Bob+x']) {
      replies.push({ text: `You are ${name}.` });
      await client('webui', ['agents', 'users'], named(name)).chat.completions.create(asked);
    }
    expect(chatsOf('webui')).toEqual([]);
    expect(chatsOf('webui+ann')).toMatchObject([{ chat: 'same', turns: 1 }]);
    const users = (await opened.host.sandboxes.all()).map((each) => each.user);
    expect(users.filter((name) => name.startsWith('webui'))).toEqual([
      'webui+ann',
      expect.stringMatching(/^webui\+_[0-9a-f]{32}$/),
    ]);
  });

  const environment = () => ({
    ...world.env,
    OPENAI_BASE_URL: `${opened.gateway.url}/v1`,
    OPENAI_API_KEY: opened.host.keys.create({ user: 'example', scopes: ['agents'] }).secret,
  });
  const answers = [{ text: 'Five letters.' }, { text: 'Noted.' }, { text: 'It was 7.' }];

  it('DR-3: for-openai.ts runs here unchanged', async () => {
    replies.push(...answers);
    const { stdout } = await promisify(execFile)(process.execPath, [inExamples('for-openai.ts')], {
      env: environment(),
    });
    expect(stdout).toBe('Five letters.\nIt was 7.\n');
  });

  it.skipIf(!python.available)(`DR-3: for-openai.py runs here unchanged${noPython}`, async () => {
    replies.push(...answers);
    const PYTHONPATH = python.available ? python.folder : '';
    const env = { ...environment(), PYTHONPATH, PYTHONDONTWRITEBYTECODE: '1' };
    const { stdout } = await promisify(execFile)('python3', [inExamples('for-openai.py')], { env });
    expect(stdout).toBe('Five letters.\nIt was 7.\n');
  });
});
