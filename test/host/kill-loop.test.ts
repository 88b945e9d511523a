import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, inject, it } from 'vitest';
import { isGeodeError } from '../../src/base/errors.ts';
import { clientOfHost } from '../../src/client/host-client.ts';
import { namedHost } from '../../src/machine/named-host.ts';
import { geodeProgram } from '../cli/sandbox-home.ts';
import { eventually } from '../contracts/harness.ts';
import { generator } from '../fixtures/random.ts';
import { startEmbeddingServer } from '../memory/embedding-server.ts';
import { qdrantMissing, startQdrant } from '../memory/qdrant-server.ts';
import { KillActions } from './kill-actions.ts';
import { hostWorld } from './world.ts';

const { bubblewrap } = inject('engines');
/** The long form: `GEODE_TEST_KILLS=200 GEODE_TEST_SEED=… npx vitest run test/host/kill-loop.test.ts`. */
const asked = Number(process.env.GEODE_TEST_KILLS ?? 0);
const seed = Number(process.env.GEODE_TEST_SEED ?? Date.now() % 1_000_000);
const longestLifeMs = 700;
const longestStartMs = 900;

const cases = [
  { index: 'embedded', kills: asked || 20, missing: null },
  { index: 'qdrant', kills: asked || 10, missing: qdrantMissing },
] as const;

describe('REL-1: the host of `geode host`, killed at any moment', () => {
  for (const { index, kills, missing } of cases)
    it.skipIf(missing !== null)(
      `loses no acknowledged write in ${kills} kills (index ${index}, seed ${seed})${missing === null ? '' : ` (skipped: ${missing})`}`,
      { timeout: 120_000 + kills * 20_000 },
      () => killed(index, kills),
    );
});

async function killed(index: 'embedded' | 'qdrant', kills: number): Promise<void> {
  await using embedding = await startEmbeddingServer();
  await using qdrant = index === 'qdrant' ? await startQdrant() : undefined;
  await using world = hostWorld({
    GEODE_RUNTIME_NAME: bubblewrap.available ? 'bubblewrap' : 'native',
    ...embedding.settings,
    ...(qdrant && { GEODE_MEMORY_INDEX: 'qdrant', GEODE_QDRANT_URL: qdrant.url }),
  });
  // A check that fails leaves no host behind.
  await using hosts = new AsyncDisposableStack();
  const random = generator(seed);
  const actions = new KillActions(random);
  for (let kill = 1; kill <= kills; kill += 1) {
    const host = hosts.use(new HostProcess(world.env));
    // One in four dies while it starts, and while it takes over what the one before has left.
    if (random() < 0.25) await delay(random() * longestStartMs);
    else {
      const client = await host.client(world.machine.stateDir);
      await actions.check(client, `after kill ${kill - 1}`);
      const working = actions.work(client, (error) => isGeodeError(error, 'server_unreachable'));
      await delay(random() * longestLifeMs);
      await host.kill();
      await working;
      continue;
    }
    await host.kill();
  }
  const last = hosts.use(new HostProcess(world.env));
  await actions.check(await last.client(world.machine.stateDir), 'at the end');
  await last.kill();
  console.log(`${index}: ${kills} kills, ${actions.checked} things and processes checked`);
  expect(actions.checked).toBeGreaterThan(kills);
}

class HostProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #said: string | undefined;

  constructor(env: Readonly<Record<string, string>>) {
    const child = spawn(process.execPath, [geodeProgram, 'host', '--json'], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child = child;
    this.#exited = once(child, 'exit');
    createInterface({ input: child.stdout }).once('line', (line) => {
      this.#said = line;
    });
  }

  /** Of this host: the one before it has left its name. */
  async client(stateDir: string) {
    await eventually(async () => this.#said ?? this.#child.exitCode ?? undefined, 'the host', 60_000);
    expect(this.#child.exitCode, 'the host ended by itself').toBeNull();
    const client = await clientOfHost(namedHost(stateDir)?.serves?.api ?? '');
    if (client === undefined) throw new Error(`no socket of the host that said ${this.#said}`);
    return client;
  }

  async kill(): Promise<void> {
    expect([this.#child.exitCode, this.#child.signalCode], 'the host ended by itself').toEqual([null, null]);
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }
}
