import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type EgressHost, type EgressOptions, openEgress } from '../../src/egress/open-egress.ts';
import { allRuntimes } from '../../src/runtimes/index.ts';
import { openSandboxes, type SandboxesOptions } from '../../src/sandboxes/open-sandboxes.ts';
import type { Sandboxes } from '../../src/seams/persistent.ts';
import type { Runtime, RuntimeName } from '../../src/seams/runtime.ts';
import { optionsIn, type TestOptions, testOptions, type World } from '../contracts/harness.ts';

/** A folder with a ledger, and hosts that come and go over it. */
export interface SandboxWorld extends AsyncDisposable {
  readonly options: TestOptions;
  readonly runtime: Runtime;
  readonly warnings: string[];
  /** Becomes the host; the world's end lets go of all and removes everything. */
  host(options?: Partial<SandboxesOptions>): Promise<Sandboxes>;
  /** While there is no host. */
  loseLedger(): Promise<void>;
}

export async function sandboxWorld(name: RuntimeName, world: World = {}): Promise<SandboxWorld> {
  const options = await testOptions(world);
  const runtime = runtimeNamed(name, options);
  const hosts: Sandboxes[] = [];
  const warnings: string[] = [];
  return {
    options,
    runtime,
    warnings,
    async host(given = {}) {
      const sandboxes = await openSandboxes({
        ...hostOptions(runtime, options),
        warn: (line) => warnings.push(line),
        ...given,
      });
      hosts.push(sandboxes);
      return sandboxes;
    },
    async loseLedger() {
      for (const end of ['', '-wal', '-shm'])
        await rm(join(options.stateDir, `ledger.db${end}`), { force: true });
    },
    async [Symbol.asyncDispose]() {
      for (const host of hosts) await host[Symbol.asyncDispose]();
      for (const id of await runtime.traces()) await runtime.remove(id);
      await options[Symbol.asyncDispose]();
    },
  };
}

/** In a folder that another process may know of. */
export async function hostIn(folder: string, world: World, name: RuntimeName): Promise<Sandboxes> {
  const options = await optionsIn(folder, world);
  const pool = { floor: 1, ceiling: 2 };
  return openSandboxes({ ...hostOptions(runtimeNamed(name, options), options), pool, waitMs: 60_000 });
}

export async function runtimeIn(folder: string, world: World, name: RuntimeName): Promise<Runtime> {
  return runtimeNamed(name, await optionsIn(folder, world));
}

function runtimeNamed(name: RuntimeName, options: TestOptions): Runtime {
  const runtime = allRuntimes(options).find((candidate) => candidate.name === name);
  if (runtime === undefined) throw new Error(`no runtime ${name}`);
  return runtime;
}

function hostOptions(runtime: Runtime, { stateDir }: TestOptions): SandboxesOptions {
  return {
    stateDir,
    runtimes: [runtime],
    choose: async () => runtime,
    image: async () => undefined,
    limits: {},
    leaseMs: 60_000,
    pool: { floor: 0, ceiling: 0 },
    most: { most: 100, mostPerUser: 100 },
    policy: { idleMs: null, removeMs: null },
    sweepEveryMs: null,
    warn: (line) => process.stderr.write(`${line}\n`),
    egress: egressIn(stateDir),
  };
}

export function egressIn(stateDir: string, more: Partial<EgressOptions> = {}): EgressHost {
  return openEgress({
    ledgerFile: join(stateDir, 'ledger.db'),
    secretsKeyFile: join(stateDir, 'secrets.key'),
    usage: { prices: {}, budgetPerDay: null },
    audit: { mostRecords: 1_000, keepMs: 3_600_000 },
    warn: (line) => process.stderr.write(`${line}\n`),
    ...more,
  });
}
