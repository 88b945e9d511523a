import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/command-list.ts';
import { perform } from '../../src/cli/perform.ts';
import { createClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { loadConfig } from '../../src/config/load.ts';
import { stateFiles, stateTables } from '../../src/host/state/tables.ts';
import { Connection } from '../../src/ledger/connection.ts';
import { currentHost } from '../../src/machine/host-lock.ts';
import { type Machine, thisMachine } from '../../src/machine/machine.ts';
import { readStateMark, stateMarkFile, stateVersion } from '../../src/machine/state-version.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type HostWorld, hostWorld } from './world.ts';

const fixtures = fileURLToPath(new URL('../fixtures/state/', import.meta.url));

const chat = ['demo'];
const id = ['abc123'];
/** Words that get each command past the check of its usage. */
const wordsOf: Readonly<Record<string, readonly string[]>> = {
  onboard: ['--yes', '--runtime', 'native'],
  run: ['python', '-c', 'pass'],
  repl: ['python'],
  'runs show': id,
  exec: ['--', 'true'],
  'sandbox create': chat,
  'sandbox start': chat,
  'sandbox stop': chat,
  'sandbox rm': chat,
  'sandbox exec': ['demo', '--', 'true'],
  'sandbox cp': ['demo:/a', '-'],
  'sandbox logs': ['demo', 'abc'],
  'sandbox ps': chat,
  'sandbox pause': chat,
  'sandbox resume': chat,
  'sandbox snapshot': chat,
  'sandbox restore': ['demo', 'one'],
  'sandbox diff': chat,
  'sandbox undo': chat,
  'sandbox fork': ['demo', 'other'],
  'sandbox hibernate': chat,
  'sandbox checkpoint': ['ls', 'demo'],
  'sandbox open': ['demo', '8080'],
  'sandbox extend': ['demo', '1h'],
  'sandbox rename': ['demo', 'other'],
  'runtime install': ['gvisor'],
  agent: ['demo', 'hello'],
  'agent log': chat,
  'agent fork': ['demo', 'other'],
  'agent interrupt': chat,
  'agent stop': chat,
  replay: ['demo', 'last'],
  claude: ['demo'],
  chat: ['demo', '-m', 'hello'],
  'chat export': chat,
  'schedule add': ['demo', '0 9 * * *', 'hello'],
  'schedule rm': id,
  solve: ['--language', 'python', 'print 1'],
  'solve show': id,
  'solve resume': id,
  'crystals show': id,
  'crystals pin': id,
  'crystals edit': ['abc123', '--problem', 'x'],
  'crystals verify': id,
  'crystals rm': id,
  'egress allow': ['demo', 'example.com'],
  'egress deny': ['demo', 'example.com'],
  'egress learn': chat,
  'approvals allow': id,
  'approvals deny': id,
  'webhook add': ['ops', 'https://hooks.example.com/geode'],
  'webhook log': ['ops'],
  'webhook rm': ['ops'],
  'secrets set': ['demo'],
  'secrets rm': ['demo'],
  'image build': ['agent'],
  'image pull': ['alpine:3.22'],
  'image rm': ['alpine:3.22'],
  'image import': [fileURLToPath(import.meta.url)],
  'image export': ['alpine:3.22', '/none.tar'],
  'tools open': chat,
  'tools close': id,
  'memory add': ['a text'],
  'memory get': id,
  'memory import': ['/none.txt'],
  'memory rm': id,
  'memory search': ['a text'],
  'keys revoke': ['0123456789ab'],
  'backup verify': ['none'],
};
/**
 * They read nothing of the state; `shell` is refused before, for want of a terminal. A restore and a rollback are the ways
 * back from a newer state.
 */
const stateless = [
  'completion',
  'agent-stdin',
  'shell',
  'backup restore',
  'rollback',
  'config path',
  'config get',
  'config set',
  'config unset',
  'config edit',
  'config check',
];

/** Runs a command in this process, as a person would type it on the machine. */
async function typed(name: string, machine: Machine) {
  const entry = commands.find((each) => each.name === name);
  if (entry === undefined) throw new Error(`no command ${name}`);
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end('a value of a secret');
  const streams = { stdin, inputKind: () => 'none' as const, closeInput() {}, stdout, stderr, setRaw() {} };
  const signal = AbortSignal.timeout(80_000);
  const around = { streams, machine, cwd: machine.home, colours: false, signal };
  const code = await perform(await entry.load(), wordsOf[name] ?? [], around);
  stdout.end();
  stderr.end();
  return { code, said: (await text(stdout)) + (await text(stderr)) };
}

async function stateDirOf({ machine }: HostWorld): Promise<string> {
  return (await loadConfig(machine)).config.sandbox.state_dir;
}

describe('the version of the state', () => {
  it('increases with every change to a table', () => {
    const known: unknown = JSON.parse(readFileSync(join(fixtures, 'versions.json'), 'utf8'));
    const tables = Object.fromEntries(
      stateFiles.map((file) => [
        file,
        Object.fromEntries(stateTables[file].map(({ name, changes }) => [name, changes.length])),
      ]),
    );
    // A change after a release also needs a higher stateVersion, and the old version stays in the file.
    const message = 'the tables have changed: write them into test/fixtures/state/versions.json';
    expect(known, message).toMatchObject({ [stateVersion]: tables });
  });
  it('is written by a host', async () => {
    await using world = hostWorld();
    await world.open();
    expect(readStateMark(await stateDirOf(world))).toEqual({ version: stateVersion, geode: 'test' });
  });

  describe('of a newer Geode is refused, and nothing changes, by', () => {
    it.each(commands.map(({ name }) => name).filter((name) => !stateless.includes(name)))(
      'geode %s',
      async (name) => {
        using home = temporaryFolder();
        const machine = thisMachine({ HOME: home.path, PATH: process.env.PATH });
        mkdirSync(machine.stateDir, { recursive: true, mode: 0o700 });
        writeFileSync(
          stateMarkFile(machine.stateDir),
          JSON.stringify({ version: stateVersion + 1, geode: '9.9.9' }),
        );
        const { code, said } = await typed(name, machine);
        expect(said).toContain(`was written by Geode 9.9.9 (state version ${stateVersion + 1})`);
        expect(code === 1 || code === 125).toBe(true);
        expect(readdirSync(machine.stateDir)).toEqual(['state.json']);
      },
    );

    it('geode sandbox ls beside the running host of that Geode, which stays', async () => {
      await using world = hostWorld();
      await world.open();
      const stateDir = await stateDirOf(world);
      const mark = readFileSync(stateMarkFile(stateDir));
      writeFileSync(stateMarkFile(stateDir), JSON.stringify({ version: stateVersion + 1, geode: '9.9.9' }));
      for (const name of ['sandbox ls', 'exec', 'doctor'])
        expect((await typed(name, world.machine)).said).toContain('was written by Geode 9.9.9');
      expect(currentHost(stateDir)?.pid).toBe(process.pid);
      writeFileSync(stateMarkFile(stateDir), mark);
    });
  });

  it.each([
    ['an unknown chapter', "INSERT INTO chapters VALUES ('planets', 1)", 'unknown chapter "planets"'],
    ['a newer chapter', "UPDATE chapters SET version = 99 WHERE name = 'events'", 'chapter events 99'],
  ])('of a newer Geode is detected by %s, also without a version file', async (_, change, found) => {
    await using world = hostWorld({ GEODE_SANDBOX_LINGER: '0' });
    const stateDir = await stateDirOf(world);
    await (await world.openParts())[Symbol.asyncDispose]();
    const ledger = join(stateDir, 'ledger.db');
    const whole = readFileSync(ledger);
    {
      using connection = new Connection(ledger);
      connection.exec(change);
    }
    const before = readFileSync(ledger);
    rmSync(stateMarkFile(stateDir));
    await expect(world.openParts()).rejects.toMatchObject({ code: 'state_newer' });
    for (const name of ['exec', 'sandbox ls', 'doctor', 'secrets ls'])
      expect((await typed(name, world.machine)).said).toContain(found);
    expect(readFileSync(ledger).equals(before)).toBe(true);
    expect(existsSync(stateMarkFile(stateDir))).toBe(false);
    writeFileSync(ledger, whole);
  });

  it('migrates from 0.1.0 with keys, secrets, memory, chats, schedules and workspaces', async () => {
    await using world = hostWorld();
    const stateDir = await stateDirOf(world);
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    const fixture = join(fixtures, '0.1.0.tar.gz');
    execFileSync('tar', ['-xzf', fixture, '-C', stateDir, '--strip-components=1', 'state']);
    mkdirSync(world.machine.configDir, { recursive: true, mode: 0o700 });
    execFileSync('tar', ['-xzf', fixture, '-C', world.machine.configDir, '--strip-components=1', 'config']);
    const { host, socket } = await world.open();
    const client = createClient(unixTransport(socket.path));
    expect((await client.keys.list()).map(({ user, label }) => ({ user, label }))).toContainEqual({
      user: 'ann',
      label: 'first',
    });
    expect(host.app.egress.secretValues('local')).toContain('first-secret-value');
    expect((await client.chats.schedules()).map(({ text: words }) => words)).toEqual(['sum up the news']);
    const found = await client.search('the build needs Node');
    expect(found.results.map(({ content }) => content)).toEqual(['The build needs Node 24.']);
    expect((await client.chats.list()).map(({ name }) => name)).toEqual(['plans']);
    const { stdout } = await client.sandboxes.of('demo').exec({ argv: ['cat', 'note.txt'] });
    expect(stdout).toBe('kept\n');
    expect(readStateMark(stateDir)).toEqual({ version: stateVersion, geode: 'test' });
  });
});
