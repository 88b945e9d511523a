import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { journalFiles } from '../../src/journals/journal-files.ts';
import type { RuntimesOptions } from '../../src/runtimes/index.ts';
import type { Available, Capabilities, Runtime } from '../../src/seams/runtime.ts';
import type { Sandbox, SandboxSpec } from '../../src/seams/sandbox.ts';
import { storeIn } from '../runtimes/oci-store.ts';

/** The input of a suite: a runtime in its own folders, and its guarantees. */
export interface Harness {
  readonly runtime: Runtime;
  readonly capabilities: Capabilities;
  /** Sandboxes have gVisor's kernel, which differs from Linux in what docs/runtimes.md names. */
  readonly isGvisor: boolean;
  readonly options: RuntimesOptions;
  /** Opens a sandbox that is stopped at the end of the suite, also after a failed test. */
  open(spec?: SandboxSpec): Promise<Sandbox>;
  /** Marks what is there now. The function that it returns removes every sandbox that was opened later. */
  mark(): () => Promise<void>;
  close(): Promise<void>;
}

export interface World {
  /** Instead of one in its own folder: several worlds may share it. */
  readonly runDir?: string;
  readonly dockerSocket?: string;
  readonly dockerLink?: 'socket' | 'stdio';
  readonly ociRuntime?: string;
  /** For the runtime `oci`: its program, and the folder of a store of images. */
  readonly oci?: { readonly program: string; readonly images: string };
  readonly image?: string;
  readonly platform?: NodeJS.Platform;
  /** Makes the program in a folder that goes with the harness. */
  readonly appleProgram?: (folder: string) => Promise<string>;
  /** The user that the host pretends to be. */
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly mountRoots?: readonly string[];
  readonly writableMountRoots?: readonly string[];
}

export const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
export const fixtureText = (name: string) => readFile(fixture(name), 'utf8');

/** Options in a folder of their own, so that suites share nothing and leave nothing. */
export async function testOptions(world: World = {}): Promise<TestOptions> {
  return optionsIn(await mkdtemp(join(tmpdir(), 'geode-test-')), world);
}

export type TestOptions = RuntimesOptions & { readonly folder: string } & AsyncDisposable;

/** Test options with a given folder, which another process may also use. */
export async function optionsIn(folder: string, world: World): Promise<TestOptions> {
  return {
    folder,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
    stateDir: join(folder, 'state'),
    runDir: world.runDir ?? join(folder, 'run'),
    guestDir: fileURLToPath(new URL('../../guest/dist', import.meta.url)),
    uid: world.user?.uid ?? process.getuid?.() ?? 0,
    gid: world.user?.gid ?? process.getgid?.() ?? 0,
    uids: { first: 1_900_000, count: 65_536 },
    platform: world.platform ?? process.platform,
    arch: process.arch,
    path: process.env.PATH ?? '',
    mounts: {
      roots: world.mountRoots ?? [],
      writableRoots: world.writableMountRoots ?? [],
      homes: [join(folder, 'home')],
    },
    journals: (place) => journalFiles(place),
    docker: {
      host: `unix://${world.dockerSocket ?? '/nowhere/docker.sock'}`,
      defaultImage: world.image ?? 'geode-test/python:1',
      ociRuntime: world.ociRuntime,
      link: world.dockerLink ?? 'auto',
    },
    apple: {
      program: (await world.appleProgram?.(folder)) ?? 'container',
      defaultImage: 'geode-test/python:1',
    },
    ...(world.oci && {
      oci: {
        program: world.oci.program,
        defaultImage: 'geode-test/python:1',
        store: storeIn(world.oci.images),
      },
    }),
  };
}

export async function openHarness(
  make: (options: RuntimesOptions) => Runtime | Promise<Runtime>,
  world: World = {},
): Promise<Harness> {
  const options = await testOptions(world);
  const runtime = await make(options);
  const found = await availableOf(runtime).catch(async (error) => {
    await options[Symbol.asyncDispose]();
    throw error;
  });
  const opened: Sandbox[] = [];
  return {
    runtime,
    options,
    capabilities: found.capabilities,
    isGvisor: found.version.includes('gVisor'),
    async open(spec = {}) {
      const sandbox = await runtime.open(spec);
      opened.push(sandbox);
      return sandbox;
    },
    mark() {
      const before = new Set(opened.map(({ id }) => id));
      return async () => {
        const later = opened.filter(({ id }) => !before.has(id));
        await Promise.all(later.map((sandbox) => sandbox.stop().catch(() => {})));
        for (const { id } of await runtime.list()) if (!before.has(id)) await runtime.remove(id);
      };
    },
    async close() {
      await Promise.all(opened.map((sandbox) => sandbox.stop().catch(() => {})));
      for (const { id } of await runtime.list()) await runtime.remove(id);
      await options[Symbol.asyncDispose]();
    },
  };
}

/** The answer of an available runtime to a probe. On a busy machine an engine may need long for its first answer. */
export async function availableOf(runtime: Runtime): Promise<Available> {
  for (const until = performance.now() + 60_000; ; ) {
    const found = await runtime.probe();
    if (found.available) return found;
    if (performance.now() > until)
      throw new Error(`the ${runtime.name} runtime is not available: ${found.reason}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/**
 * The result of a command with a short timeout that prints a word at its start. On a busy machine the start may take
 * longer than the timeout: a command without output gets more time.
 */
export async function begunBeforeTimeout<Result extends { readonly stdout: string }>(
  timeoutMs: number,
  attempt: (timeoutMs: number) => Promise<Result>,
): Promise<Result> {
  for (const longer of [timeoutMs, timeoutMs * 5]) {
    const result = await attempt(longer);
    if (result.stdout !== '') return result;
  }
  return attempt(60_000);
}

/** Waits for a state by polling, so that no test needs a fixed sleep. */
export async function eventually<T>(
  look: () => Promise<T | undefined | false>,
  what: string,
  ms = 60_000,
): Promise<T> {
  const until = performance.now() + ms;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (performance.now() > until) throw new Error(`waited ${ms} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
