import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { upgradeSteps } from '../../src/host/upgrade/upgrade.ts';
import { stateVersion } from '../../src/machine/state-version.ts';
import { eventually } from '../contracts/harness.ts';
import { type NpmRegistry, startNpmRegistry } from '../engine/npm-registry.ts';
import { buildSmallPackage, type Changes } from '../engine/small-package.ts';
import { agentScript } from '../fixtures/model-server/agent-script.ts';
import { type ModelServer, startModelServer } from '../fixtures/model-server/model-server.ts';
import { generator } from '../fixtures/random.ts';
import { type TemporaryFolder, temporaryFolder } from '../temporary-folder.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;
/** The long form: `GEODE_TEST_KILLS=50 GEODE_TEST_SEED=… npx vitest run test/host/upgrade.test.ts`. */
const kills = Number(process.env.GEODE_TEST_KILLS ?? 0);
const seed = Number(process.env.GEODE_TEST_SEED ?? Date.now() % 1_000_000);
const longestPauseMs = 3_000;

const [first, second, broken] = ['8.1.0', '8.2.0', '8.3.0'] as const;
/** A release that changes a table, and with it the version of the state. */
const changed: Changes = {
  'src/machine/state-version.ts': [[`stateVersion = ${stateVersion}`, `stateVersion = ${stateVersion + 1}`]],
  'src/runs/history/run-table.ts': [
    [
      'CREATE INDEX runs_by_id ON runs (id)`,',
      'CREATE INDEX runs_by_id ON runs (id)`, `ALTER TABLE runs ADD COLUMN note TEXT`,',
    ],
  ],
};

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

describe.skipIf(!bubblewrap.available)(`geode upgrade and rollback${skipped}`, { timeout: 900_000 }, () => {
  let folder: TemporaryFolder;
  let registry: NpmRegistry;
  let model: ModelServer;
  let program: string;
  let env: Record<string, string>;
  const released = Promise.withResolvers<void>();

  const start = (args: readonly string[]): ChildProcess =>
    spawn(process.execPath, [program, ...args], { env, cwd: folder.path, stdio: ['ignore', 'pipe', 'pipe'] });
  const run = async (args: readonly string[]): Promise<Outcome> => {
    const child = start(args);
    const closed = once(child, 'close');
    const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
    await closed;
    return { code: child.exitCode, stdout, stderr };
  };
  const ok = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(args);
    expect(code, `geode ${args.join(' ')}: ${stderr}${stdout}`).toBe(0);
    return stdout;
  };
  const json = async (...args: string[]) => JSON.parse(await ok(...args, '--json'));
  const state = () => join(folder.path, '.local/state/geode');
  const columnsOfRuns = () => {
    const ledger = new DatabaseSync(join(state(), 'ledger.db'), { readOnly: true });
    try {
      return ledger
        .prepare('PRAGMA table_info(runs)')
        .all()
        .map(({ name }) => name);
    } finally {
      ledger.close();
    }
  };
  /** The sandbox runs the process of the beginning, and has its files. */
  const isWhole = async () => {
    const { sandboxes } = await json('sandbox', 'ls');
    expect(sandboxes).toContainEqual(expect.objectContaining({ chat: 'demo', state: 'running' }));
    expect(await ok('sandbox', 'exec', 'demo', '--', 'cat', 'note')).toBe('kept\n');
    const lines = (await ok('sandbox', 'logs', 'demo', counting)).trim().split('\n');
    expect(lines).toEqual(lines.map((_, index) => `${index}`));
    return lines.length;
  };
  let counting: string;

  beforeAll(async () => {
    folder = temporaryFolder();
    registry = await startNpmRegistry(join(folder.path, 'registry'));
    const packages: readonly [string, Changes][] = [
      [first, {}],
      [second, changed],
    ];
    for (const [version, changes] of packages) {
      const built = join(folder.path, version);
      await buildSmallPackage(built, version, changes);
      await registry.publish(built);
    }
    const hold = released.promise;
    model = await startModelServer(
      agentScript({ 'wait for me': [{ text: 'I waited.', hold }], 'say hello': [{ text: 'Hello.' }] }),
    );
    env = {
      PATH: process.env.PATH ?? '',
      HOME: folder.path,
      NO_COLOR: '1',
      npm_config_registry: registry.url,
      GEODE_SANDBOX_RUN_DIR: join(folder.path, 'run'),
      GEODE_RUNTIME_NAME: 'bubblewrap',
      GEODE_SANDBOX_READY: '0',
      GEODE_MEMORY_EMBEDDER: 'ollama',
      GEODE_MEMORY_MODEL: 'none',
      GEODE_MEMORY_DIMENSIONS: '8',
      GEODE_MEMORY_BASE_URL: 'http://127.0.0.1:9',
      GEODE_PROVIDERS_SERVICES: JSON.stringify({
        scripted: { kind: 'openai-compatible', base_url: `${model.url}/v1`, api_key: 'a-key' },
      }),
      GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
    };
    const prefix = join(folder.path, 'npm');
    await promisify(execFile)('npm', ['install', '-g', '--prefix', prefix, `geode-home@${first}`], { env });
    program = join(prefix, 'lib/node_modules/geode-home/bin/geode.js');
    await ok('sandbox', 'create', 'demo');
    await ok('sandbox', 'exec', 'demo', '--', 'sh', '-c', 'echo kept > note');
    const script = 'i=0; while true; do echo $i; i=$((i+1)); sleep 0.2; done';
    counting = (await ok('sandbox', 'exec', '--background', 'demo', '--', 'sh', '-c', script)).trim();
    await ok('memory', 'add', 'The crane is yellow.');
  }, 600_000);
  afterAll(async () => {
    released.resolve();
    await run(['sandbox', 'rm', 'demo', 'talk']);
    await run(['host', 'stop']);
    await model?.[Symbol.asyncDispose]();
    await registry?.[Symbol.asyncDispose]();
    folder?.[Symbol.dispose]();
  }, 120_000);

  it('OPS-3: tries the new version on a copy, switches, keeps the sandbox and the turn, and goes back', async () => {
    const talking = start(['agent', '--chat', 'talk', '-m', 'wait for me']);
    await eventually(
      async () => model.calls.some(({ prompt }) => prompt.includes('wait for me')),
      'the turn',
      60_000,
    );
    const before = await isWhole();
    const upgraded = await json('upgrade', second);
    expect(upgraded).toMatchObject({ from: first, to: second });
    expect(upgraded.running).toBeGreaterThanOrEqual(1);
    const checks = Object.fromEntries(
      upgraded.checks.map(({ name, state: found }: { name: string; state: string }) => [name, found]),
    );
    expect(checks, JSON.stringify(upgraded.checks)).toEqual({
      ...{ backup: 'ok', sandboxes: 'ok', secrets: 'ok', memory: 'ok', canary: 'ok' },
      ...{ exec: 'ok', run: 'ok', search: 'ok', agent: 'ok' },
    });
    expect(existsSync(upgraded.backup)).toBe(true);
    talking.kill('SIGKILL');
    expect(await ok('--version')).toBe(`geode ${second}\n`);
    expect(columnsOfRuns()).toContain('note');
    expect(await isWhole()).toBeGreaterThanOrEqual(before);
    released.resolve();
    const answered = () =>
      eventually(async () => (await ok('agent', 'log', 'talk')).includes('I waited.'), 'the answer', 120_000);
    await answered();
    expect(await ok('memory', 'search', 'crane')).toContain('The crane is yellow.');
    expect(eventsIn(state())).toContain('upgrade');
    expect(leftBeside(folder.path)).toEqual([]);

    expect((await json('upgrade', second)).backup).toBeNull();
    const rolled = await json('rollback');
    expect(rolled).toMatchObject({ from: second, to: first, stateOf: expect.any(String) });
    expect(existsSync(join(rolled.aside, 'ledger.db'))).toBe(true);
    expect(await ok('--version')).toBe(`geode ${first}\n`);
    expect(columnsOfRuns()).not.toContain('note');
    expect(await isWhole()).toBeGreaterThanOrEqual(before);
    await answered();
    expect((await run(['rollback'])).stderr).toContain('no upgrade');
  });

  it('OPS-3: leaves the old version at work when the new one is missing or fails', async () => {
    const missing = await run(['upgrade', '7.7.7']);
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('7.7.7') });
    const built = join(folder.path, broken);
    cpSync(join(folder.path, first), built, { recursive: true });
    for (const file of globSync('**/*.{js,json}', { cwd: built })) {
      const path = join(built, file);
      // Every host of it fails when it starts.
      const code = readFileSync(path, 'utf8')
        .replaceAll(`"${first}"`, `"${broken}"`)
        .replace(/async function reportChange\(.*\{/, '$& throw new Error("broken on purpose");');
      writeFileSync(path, code);
    }
    await registry.publish(built);
    const failed = await run(['upgrade', broken]);
    expect(failed).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`Geode ${broken} does not work here`),
    });
    expect(await ok('--version')).toBe(`geode ${first}\n`);
    await isWhole();
    expect(readdirSync(state()).filter((name) => name.startsWith('before-upgrade'))).toEqual([]);
  });

  const random = generator(seed);
  const rounds =
    kills > 0
      ? Array.from({ length: kills }, (_, at) => upgradeSteps[at % upgradeSteps.length])
      : (['install', 'switch', 'start'] as const);
  it(`OPS-3: loses nothing when it is killed during ${rounds.length} steps (seed ${seed})`, {
    timeout: 300_000 + rounds.length * 180_000,
  }, async () => {
    for (const [round, step] of rounds.entries()) {
      const before = await isWhole();
      const child = start(['upgrade', second]);
      const closed = once(child, 'close');
      let said = '';
      child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
        said += piece;
      });
      await eventually(
        async () => said.includes(words[step ?? 'backup']) || child.exitCode !== null,
        `step ${step}: ${said}`,
        180_000,
      );
      if (kills > 0) await delay(random() * longestPauseMs);
      child.kill('SIGKILL');
      await closed;
      const version = (await ok('--version')).trim();
      expect([`geode ${first}`, `geode ${second}`], `round ${round}`).toContain(version);
      if (step !== 'switch' && step !== 'start' && kills === 0) expect(version).toBe(`geode ${first}`);
      expect(await isWhole(), `round ${round}, ${step}`).toBeGreaterThanOrEqual(before);
      expect(await ok('memory', 'search', 'crane')).toContain('The crane is yellow.');
      if (version === `geode ${second}`) expect(await json('rollback')).toMatchObject({ to: first });
      expect(await ok('--version')).toBe(`geode ${first}\n`);
    }
    await isWhole();
  });
});

const words = {
  backup: 'making a backup',
  verify: 'trying the backup',
  install: 'installing',
  try: 'on a copy',
  switch: 'switching',
  start: 'waiting until',
} as const;

async function textOf(stream: ChildProcess['stdout']): Promise<string> {
  return stream ? text(stream) : '';
}

function eventsIn(stateDir: string): readonly unknown[] {
  const ledger = new DatabaseSync(join(stateDir, 'ledger.db'), { readOnly: true });
  try {
    return ledger
      .prepare('SELECT body FROM events')
      .all()
      .map(({ body }) => JSON.parse(String(body)).type);
  } finally {
    ledger.close();
  }
}

/** Scratch folders of a trial. */
function leftBeside(home: string): readonly string[] {
  const folder = join(home, '.local/state/geode-backups');
  return readdirSync(folder).filter((name) => name.startsWith('.'));
}
