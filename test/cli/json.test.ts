/** Every command is called with --json on a real host, and its output is read as a program reads it. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { commands } from '../../src/cli/command-list.ts';
import { perform } from '../../src/cli/perform.ts';
import { eventually } from '../contracts/harness.ts';
import { archiveOf } from '../fixtures/image-archive.ts';
import { type ModelServer, type Reply, startModelServer } from '../fixtures/model-server/model-server.ts';
import { type HostWorld, hostWorld } from '../host/world.ts';
import { patience } from './sandbox-home.ts';
import { linesOfJson, withoutJson } from './without-json.ts';

const { bubblewrap } = inject('engines');
const reason = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

interface Typed {
  readonly input?: string;
  /** On this machine; by default the one of the host that runs. */
  readonly on?: HostWorld;
  /** The command runs until Ctrl-C, which the test sends after the first line. */
  readonly untilInterrupt?: boolean;
  /** The code of the error that it is refused with, where this machine has not what it needs. */
  readonly refused?: string;
}

describe.skipIf(!bubblewrap.available)(`CLI-1: --json of every command${reason}`, patience, () => {
  let server: ModelServer;
  let world: HostWorld;
  /** The host that all commands speak to: `geode gateway` in this process. */
  let gateway: Promise<number>;
  const ending = new AbortController();
  const replies: Reply[] = [];
  const called = new Set<string>();
  const settings = (): Record<string, string> => ({
    GEODE_RUNTIME_NAME: 'bubblewrap',
    // No command may start another host.
    GEODE_SANDBOX_LINGER: '0',
    A_TOKEN: 'token-of-somebody',
    GEODE_PROVIDERS_SERVICES: JSON.stringify({
      scripted: { kind: 'openai-compatible', base_url: `${server.url}/v1`, api_key: 'a-key' },
    }),
    GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
    GEODE_PROVIDERS_RETRIES: '0',
    DOCKER_HOST: 'unix:///nowhere/docker.sock',
  });

  beforeAll(async () => {
    server = await startModelServer(() => replies.shift() ?? { status: 500, body: 'nothing is scripted' });
    world = hostWorld(settings());
    const typed = typing('gateway', ['--port', '0'], { signal: ending.signal });
    gateway = typed.code;
    const line = await once(typed.stdout, 'data');
    expect(JSON.parse(String(line))).toBeTypeOf('object');
    called.add('gateway');
    await writeFile(join(world.folder, 'tests.py'), 'assert double(3) == 6\n');
  }, 120_000);
  afterAll(async () => {
    ending.abort('SIGINT');
    await gateway;
    await world?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  }, 120_000);

  /** Types a command in this process. */
  function typing(
    name: string,
    argv: readonly string[],
    { input, on = world, signal }: Typed & { readonly signal: AbortSignal },
  ) {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const streams = {
      stdin: Readable.from(input === undefined ? [] : [Buffer.from(input)]),
      inputKind: () => (input === undefined ? ('none' as const) : ('pipe' as const)),
      closeInput: () => {},
      stdout,
      stderr,
      setRaw: () => {},
    };
    const around = { streams, machine: on.machine, cwd: on.folder, colours: true, signal };
    const performed = async () => {
      const command = await commands.find((entry) => entry.name === name)?.load();
      if (command === undefined) throw new Error(`There is no command ${name}`);
      const code = await perform(command, ['--json', ...argv], around);
      stdout.end();
      stderr.end();
      return code;
    };
    return { stdout, stderr, code: performed() };
  }

  /** The values that the command printed; nothing else may be on either stream. */
  async function values(
    name: string,
    argv: readonly string[] = [],
    options: Typed = {},
  ): Promise<readonly unknown[]> {
    const { untilInterrupt = false, refused } = options;
    const interrupt = new AbortController();
    const typed = typing(name, argv, { ...options, signal: interrupt.signal });
    if (untilInterrupt) typed.stdout.once('data', () => interrupt.abort('SIGINT'));
    const [printed, errors, code] = await Promise.all([text(typed.stdout), text(typed.stderr), typed.code]);
    const what = `geode ${name} ${argv.join(' ')} ended with ${code}: ${printed}${errors}`;
    expect(errors, what).toBe('');
    expect(printed, what).toMatch(/\n$/);
    const isLines = linesOfJson[name] !== undefined && refused === undefined;
    const read = (isLines ? printed.trimEnd().split('\n') : [printed]).map((each) => parsed(each, what));
    for (const value of read) expect(value, what).toBeTypeOf('object');
    if (refused !== undefined) expect(read, what).toMatchObject([{ code: refused }]);
    else if (!untilInterrupt) expect(code, what).toBe(0);
    called.add(name);
    return read;
  }

  async function value<T>(schema: z.ZodType<T>, ...typed: Parameters<typeof values>): Promise<T> {
    return schema.parse((await values(...typed)).at(-1));
  }

  it('of sandbox commands matches its schemas', async () => {
    await values('sandbox create', ['demo']);
    await values('sandbox ls');
    await values('sandbox exec', ['demo', '--', 'sh', '-c', 'echo out; echo err >&2; echo x > file.txt']);
    await values('sandbox exec', ['--undoable', 'demo', '--', 'rm', 'file.txt']);
    await values('sandbox undo', ['demo']);
    await values('sandbox cp', ['demo:file.txt', 'copy.txt']);
    await values('sandbox logs', ['demo']);
    await values('sandbox ps', ['demo']);
    await values('sandbox stats', ['demo']);
    await values('sandbox checkpoint', ['ls', 'demo'], { refused: 'cannot_enforce' });
    await values('sandbox hibernate', ['demo'], { refused: 'cannot_enforce' });
    await values('sandbox pause', ['demo']);
    await values('sandbox resume', ['demo']);
    await values('sandbox snapshot', ['demo', 'first']);
    await values('sandbox diff', ['demo', 'first']);
    await values('sandbox restore', ['demo', 'first']);
    await values('sandbox fork', ['demo', 'other']);
    await values('sandbox rename', ['other', 'another']);
    await values('sandbox exec', ['--background', 'demo', '--', 'python3', '-m', 'http.server', '8000']);
    const connects = `python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8000))' 2> errors`;
    const listens = `until ${connects}; do sleep 0.05; done`;
    await values('sandbox exec', ['demo', '--', 'sh', '-c', listens]);
    await values('sandbox open', ['demo', '8000']);
    await values('sandbox extend', ['demo', '10m']);
    await values('sandbox stop', ['another']);
    await values('sandbox start', ['another']);
    await values('sandbox rm', ['another']);
  });

  it('of egress and approval commands matches its schemas', async () => {
    await values('egress default', ['--allow', 'example.com']);
    await values('egress ls', ['demo']);
    await values('egress allow', ['demo', 'example.com']);
    await values('egress deny', ['demo', 'example.org']);
    await values('egress ask', ['demo']);
    const ask = async (host: string) => {
      const fetch = `import urllib.request; urllib.request.urlopen("http://${host}/")`;
      await values('sandbox exec', ['--background', 'demo', '--', 'python3', '-c', fetch]);
      const waiting = z.object({ approvals: z.array(z.object({ id: z.string(), state: z.string() })) });
      return eventually(async () => {
        const { approvals } = await value(waiting, 'approvals ls');
        return approvals.find(({ state }) => state === 'open')?.id;
      }, 'an approval that waits');
    };
    const first = await ask('one.invalid');
    await values('approvals watch', [], { untilInterrupt: true });
    await values('approvals allow', [first]);
    await values('approvals deny', [await ask('two.invalid')]);
    await values('egress learn', ['demo']);
    await values('egress log', ['demo']);
    await values('egress usage');
    await values('webhook add', ['ops', 'https://hooks.example.com/geode', '--off']);
    await values('webhook ls');
    await values('webhook log', ['ops']);
    await values('webhook rm', ['ops']);
    await values('secrets set', ['a-secret', '--from', 'A_TOKEN']);
    await values('secrets ls');
    await values('secrets rotate');
    await values('secrets rm', ['a-secret']);
    await values('tools open', ['demo']);
    await values('tools ls');
    await values('tools log', ['demo']);
    await values('tools servers');
    await values('tools close', ['demo']);
  });

  it('of geode run matches its schema', async () => {
    await values('run', ['python', '-c', 'print(1)']);
    await values('exec', ['--', 'echo', 'out']);
    await values('repl', ['python'], { input: '1 + 1\n2 + 2\n' });
    const { runs } = await value(z.object({ runs: z.array(z.object({ id: z.string() })) }), 'runs ls');
    await values('runs show', [runs[0]?.id ?? '']);
  });

  it('of agent, chat and schedule commands matches its schemas', async () => {
    replies.push({ text: 'An answer.' }, { text: 'Another answer.' });
    await values('agent', ['-m', 'a question']);
    await values('agent ls');
    await values('agent log', ['agent']);
    await values('replay', ['agent']);
    await values('agent fork', ['agent', 'agent-copy']);
    await values('agent interrupt', ['agent']);
    await values('agent stop', ['agent']);
    await values('chat', ['plans', '-m', 'a question']);
    await values('chat ls');
    await values('chat export', ['plans']);
    await values('chat pair');
    await values('chat unpair');
    const made = await value(z.object({ id: z.coerce.string() }), 'schedule add', [
      'plans',
      'every 1h',
      'look',
    ]);
    await values('chat audit');
    await values('schedule ls');
    await values('schedule rm', [made.id]);
    await values('claude', ['a question'], { refused: 'secret_missing' });
  });

  it('of solve commands matches its schemas', async () => {
    const code = {
      language: 'python',
      code: 'def double(n): return 2 * n',
      files: [],
      checks: '',
      needs: '',
    };
    replies.push({ text: JSON.stringify(code) });
    await values('solve', ['-l', 'python', '--tests', 'tests.py', 'write', 'double(n)']);
    const { solves } = await value(z.object({ solves: z.array(z.object({ id: z.string() })) }), 'solve ls');
    const id = solves[0]?.id ?? '';
    await values('solve show', [id]);
    await values('solve resume', [id], { refused: 'invalid_input' });
    const kept = z.object({ crystals: z.array(z.object({ key: z.string() })) });
    const key = (await value(kept, 'crystals ls')).crystals[0]?.key ?? '';
    await values('crystals show', [key]);
    await values('crystals pin', [key]);
    await values('crystals edit', ['--problem', 'write double(n) again', key]);
    await values('crystals verify', [key]);
    await values('crystals rm', [key]);
  });

  it('of memory commands matches its schemas', async () => {
    const { id } = await value(z.object({ id: z.string() }), 'memory add', ['a', 'fact']);
    await values('memory get', [id]);
    await values('memory ls');
    await values('memory search', ['fact']);
    await values('memory audit');
    await values('memory stats');
    await values('memory export');
    await writeFile(join(world.folder, 'notes.md'), '# Notes\n\nAnother fact.\n');
    await values('memory import', [join(world.folder, 'notes.md')]);
    // Nothing that embeds runs here.
    await values('memory reindex', [], { refused: 'embedder_failed' });
    await values('memory rm', [id]);
  });

  it('of machine, config, key and image commands matches its schemas', async () => {
    const { id } = await value(z.object({ id: z.string() }), 'keys create', ['--scope', 'runs']);
    await values('keys ls');
    await values('keys revoke', [id]);
    await values('status');
    await values('config');
    await values('doctor');
    await values('host status');
    await values('completion', ['names']);
    await values('dashboard');
    await values('image ls');
    await values('image build', ['base'], { refused: 'runtime_unavailable' });
    await values('image rm', ['base']);
    await writeFile(join(world.folder, 'small.tar'), await archiveOf('small:1', { etc: 'one' }));
    await values('image import', ['small.tar']);
    await values('image export', ['small:1', 'copy.tar']);
    // No registry is asked for what is in the store.
    await values('image pull', ['--runtime', 'oci', 'small:1']);
    await values('image prune');
    // Building gVisor takes minutes.
    await values('runtime install', ['nothing'], { refused: 'invalid_input' });
  });

  it('of backup commands matches its schemas', async () => {
    await values('backup create', ['--name', 'one']);
    await values('backup ls');
    await values('backup verify', ['one']);
    await using fresh = hostWorld(settings());
    await values('backup restore', [`${world.machine.stateDir}-backups/one.geode`], { on: fresh });
    // A clone is updated by git; test/host/upgrade.test.ts reads the output of packages.
    await values('upgrade', [], { on: fresh, refused: 'invalid_input' });
    await values('rollback', [], { on: fresh, refused: 'invalid_input' });
  });

  it('of commands that run a host until Ctrl-C matches its schemas', async () => {
    await using alone = hostWorld(settings());
    await values('host', [], { on: alone, untilInterrupt: true });
    await values('host stop', [], { on: alone });
    const answers = ['--yes', '--unchecked', '--budget', '5'];
    await values('onboard', answers, { on: alone });
    await values('config set', ['sandbox.pids', '7'], { on: alone });
    for (const name of ['config get', 'config unset']) await values(name, ['sandbox.pids'], { on: alone });
    for (const name of ['config path', 'config check']) await values(name, [], { on: alone });
    await values('uninstall', ['--yes', '--data'], { on: alone });
  });

  it('covers every command', () => {
    const left = commands.map(({ name }) => name).filter((name) => !called.has(name));
    expect(left.filter((name) => withoutJson[name] === undefined)).toEqual([]);
  });
});

function parsed(words: string, what: string): unknown {
  try {
    return JSON.parse(words);
  } catch {
    throw new Error(`This is not JSON: ${what}`);
  }
}
