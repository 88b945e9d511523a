import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { commands } from '../../src/cli/command-list.ts';
import { archiveOf } from '../fixtures/image-archive.ts';
import { type ModelServer, startModelServer } from '../fixtures/model-server/model-server.ts';
import { type HeldSocket, holdSocket } from './held-socket.ts';
import { patience, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

/** Commands that end when a person or a program on the other side does, or that ask no host. */
const without: Readonly<Record<string, string>> = {
  onboard: 'asks no host',
  'agent-stdin': 'asks no host',
  completion: 'asks no host',
  'image build': 'needs an engine that builds; it is read like every other stream',
  shell: 'needs a terminal',
  claude: 'needs the program; its turn is read as that of geode agent',
  gateway: 'stays',
  host: 'stays',
  mcp: 'stays',
  'approvals watch': 'stays',
  dashboard: 'stays where no gateway runs',
  'host status': 'is one request of the host that runs',
  'host stop': 'ends the host',
  'config path': 'asks no host',
  'config get': 'asks no host',
  'config set': 'asks no host',
  'config unset': 'asks no host',
  'config edit': 'asks no host',
  'config check': 'asks no host',
  'backup ls': 'asks no host',
  'backup verify': 'asks no host',
  'backup restore': 'asks no host',
  upgrade: 'replaces the host',
  rollback: 'replaces the host',
  uninstall: 'ends the host',
  'solve resume': 'needs a solve that a host has left',
};

/** Commands in an order in which each finds what it needs. */
const table: readonly (readonly [args: readonly string[], code: number, stdin?: string])[] = [
  [['run', '-q', 'shell', '-c', 'echo here'], 0],
  [['exec', '-q', '--', 'echo', 'here'], 0],
  [['repl', 'python'], 0, 'print(1)\n'],
  [['runs', 'ls'], 0],
  [['runs', 'show', 'nothing'], 1],
  [['sandbox', 'create', 'demo'], 0],
  [['sandbox', 'ls'], 0],
  [['sandbox', 'exec', 'demo', '--', 'sh', '-c', 'exit 3'], 3],
  [['sandbox', 'exec', 'demo', '--', 'echo', 'here'], 0],
  [['sandbox', 'cp', 'note.txt', 'demo:note.txt'], 0],
  [['sandbox', 'cp', 'demo:note.txt', 'back.txt'], 0],
  [['sandbox', 'ps', 'demo'], 0],
  [['sandbox', 'logs', 'demo'], 0],
  [['sandbox', 'stats', 'demo'], 0],
  [['sandbox', 'checkpoint', 'ls', 'demo'], 1],
  [['sandbox', 'hibernate', 'demo'], 1],
  [['sandbox', 'snapshot', 'demo', 'first'], 0],
  [['sandbox', 'diff', 'demo', 'first'], 0],
  [['sandbox', 'fork', 'demo', 'copy'], 0],
  [['sandbox', 'rename', 'copy', 'other'], 0],
  [['sandbox', 'extend', 'demo', '600'], 0],
  [['sandbox', 'open', 'demo', '9'], 1],
  [['sandbox', 'pause', 'demo'], 0],
  [['sandbox', 'resume', 'demo'], 0],
  [['sandbox', 'stop', 'demo'], 0],
  [['sandbox', 'restore', 'demo', 'first'], 0],
  [['sandbox', 'undo', 'demo'], 1],
  [['sandbox', 'start', 'demo'], 0],
  [['egress', 'ls'], 0],
  [['egress', 'default'], 0],
  [['egress', 'allow', 'demo', 'example.com'], 0],
  [['egress', 'deny', 'demo', 'example.com'], 0],
  [['egress', 'ask', 'demo'], 0],
  [['egress', 'learn', 'demo'], 0],
  [['egress', 'log'], 0],
  [['egress', 'usage'], 0],
  [['tools', 'open', 'demo'], 0],
  [['tools', 'ls'], 0],
  [['tools', 'servers'], 0],
  [['tools', 'log'], 0],
  [['tools', 'close', 'nothing'], 1],
  [['sandbox', 'rm', 'demo', 'other'], 0],
  [['agent', '-m', 'hello'], 0],
  [['agent', 'ls'], 0],
  [['agent', 'log', 'agent'], 0],
  [['replay', 'agent'], 0],
  [['agent', 'fork', 'agent', 'agent-copy'], 0],
  [['agent', 'interrupt', 'agent'], 0],
  [['agent', 'stop', 'agent'], 0],
  [['chat', 'talk', '-m', 'hello'], 0],
  [['chat', 'talk', '-m', '/status'], 0],
  [['chat', 'ls'], 0],
  [['chat', 'export', 'talk'], 0],
  [['chat', 'pair'], 0],
  [['chat', 'unpair'], 0],
  [['chat', 'audit'], 0],
  [['schedule', 'add', 'talk', 'every 2h', 'hello'], 0],
  [['schedule', 'ls'], 0],
  [['schedule', 'rm', 'nothing'], 1],
  [['solve', 'add two numbers'], 1],
  [['solve', 'ls'], 0],
  [['solve', 'show', 'nothing'], 1],
  [['crystals', 'ls'], 0],
  [['crystals', 'show', 'nothing'], 1],
  [['crystals', 'pin', 'nothing'], 1],
  [['crystals', 'edit', 'nothing', '--problem', 'x'], 1],
  [['crystals', 'verify', 'nothing'], 1],
  [['crystals', 'rm', 'nothing'], 1],
  [['approvals', 'ls'], 0],
  [['approvals', 'allow', 'nothing'], 1],
  [['approvals', 'deny', 'nothing'], 1],
  [['webhook', 'add', 'ops', 'https://hooks.example.com/geode', '--off'], 0],
  [['webhook', 'ls'], 0],
  [['webhook', 'log', 'ops'], 0],
  [['webhook', 'rm', 'ops'], 0],
  [['secrets', 'set', 'github'], 0, 'a-secret-for-the-test\n'],
  [['secrets', 'ls'], 0],
  [['secrets', 'rotate', 'github'], 0, 'another-secret-for-it\n'],
  [['secrets', 'rm', 'github'], 0],
  [['image', 'ls'], 0],
  [['image', 'import', 'small.tar'], 0],
  [['image', 'export', 'small:1', 'copy.tar'], 0],
  // No registry is asked for an image in the store.
  [['image', 'pull', '--runtime', 'oci', 'small:1'], 0],
  [['image', 'rm', 'small:1'], 0],
  [['image', 'rm', 'nothing'], 0],
  [['image', 'prune'], 0],
  // Building gVisor takes minutes.
  [['runtime', 'install', 'nothing'], 2],
  [['memory', 'add', 'a fact'], 0],
  [['memory', 'ls'], 0],
  [['memory', 'search', 'fact'], 0],
  [['memory', 'get', 'nothing'], 1],
  [['memory', 'export'], 0],
  [['memory', 'import', 'note.txt'], 0],
  [['memory', 'audit'], 0],
  [['memory', 'stats'], 0],
  [['memory', 'reindex'], 0],
  [['memory', 'rm', 'nothing'], 1],
  [['keys', 'create', '--user', 'ann'], 0],
  [['keys', 'ls'], 0],
  [['keys', 'revoke', 'nothing'], 1],
  [['backup', 'create'], 0],
  [['status'], 0],
  [['doctor'], 0],
  [['config'], 0],
];

describe.skipIf(!bubblewrap.available)(`commands that have answered${skipped}`, patience, () => {
  let model: ModelServer;
  let home: SandboxHome;
  let held: HeldSocket;

  beforeAll(async () => {
    model = await startModelServer(() => ({ text: 'Hello.' }));
    home = await sandboxHome({
      GEODE_RUNTIME_NAME: 'bubblewrap',
      GEODE_SANDBOX_LINGER: '600',
      GEODE_PROVIDERS_SERVICES: JSON.stringify({
        scripted: { kind: 'openai-compatible', base_url: `${model.url}/v1`, api_key: 'a-key' },
      }),
      GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
    });
    await writeFile(join(home.folder, 'note.txt'), 'hello\n');
    await writeFile(join(home.folder, 'small.tar'), await archiveOf('small:1', { etc: 'one' }));
    // The host starts, and stays.
    await home.ok(['chat', 'talk', '-m', 'hello']);
    held = await holdSocket(home);
  }, patience.timeout);
  afterAll(async () => {
    held?.release();
    await home?.[Symbol.asyncDispose]();
    await model?.[Symbol.asyncDispose]();
  }, patience.timeout);

  it.each(table.map(([args, code, stdin]) => ({ line: args.join(' '), args, code, stdin })))(
    'exit although the host keeps the connection open: geode $line',
    async ({ args, code, stdin }) => {
      const ended = await home.run(args, stdin);
      expect(ended.code, ended.stderr + ended.stdout).toBe(code);
    },
  );

  it('are all in the table, or are excluded with a reason', () => {
    const tried = table.flatMap(([args]) => [args.slice(0, 1).join(), args.slice(0, 2).join(' ')]);
    const names = commands.map(({ name }) => name);
    expect(names.filter((name) => without[name] === undefined && !tried.includes(name))).toEqual([]);
    expect(Object.keys(without).filter((name) => !names.includes(name))).toEqual([]);
    expect(held.answers()).toBeGreaterThan(table.length / 2);
  });
});
