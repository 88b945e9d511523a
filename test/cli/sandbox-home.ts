/** A home of its own with sandboxes in it, and the command line that works on them. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { HostFacts } from '../../src/machine/named-host.ts';
import type { SandboxStatus } from '../../src/seams/persistent.ts';
import { eventually } from '../contracts/harness.ts';
import type { Outcome } from './geode.ts';
import { type Person, type Seat, sitDown } from './person.ts';

/** A command is a program that starts: on a busy machine that takes its time. */
export const patience = { timeout: 300_000 } as const;

export function patiently<T>(look: () => Promise<T | undefined | false>, what: string): Promise<T> {
  return eventually(look, what, 120_000);
}

export const geodeProgram = fileURLToPath(new URL('../../bin/geode.js', import.meta.url));

export interface SandboxHome extends AsyncDisposable {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  start(...args: readonly string[]): ChildProcessWithoutNullStreams;
  /** With other variables. */
  startWith(more: Readonly<Record<string, string>>, args: readonly string[]): ChildProcessWithoutNullStreams;
  run(args: readonly string[], stdin?: string, more?: Readonly<Record<string, string>>): Promise<Outcome>;
  /** The output of a successful command; a failure fails the test. */
  ok(args: readonly string[], stdin?: string): Promise<string>;
  json<T>(args: readonly string[]): Promise<T>;
  /** Ends what a test left running, so that the next one finds no host in its way. */
  end(): Promise<void>;
  /** The facts that the host process reports about itself. */
  host(): Promise<HostFacts>;
  /** At a real terminal. */
  sit(args: readonly string[], size?: Omit<Seat, 'env'>): Person;
}

export async function sandboxHome(settings: Readonly<Record<string, string>>): Promise<SandboxHome> {
  const folder = await mkdtemp(join(tmpdir(), 'geode-home-'));
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    NO_COLOR: '1',
    GEODE_TYPED_AS: 'geode',
    GEODE_SANDBOX_RUN_DIR: join(folder, 'run'),
    ...settings,
  };
  const started = new Set<ChildProcessWithoutNullStreams>();
  const startWith = (more: Readonly<Record<string, string>>, args: readonly string[]) => {
    const child = spawn(process.execPath, [geodeProgram, ...args], { env: { ...env, ...more }, cwd: folder });
    started.add(child);
    child.once('close', () => started.delete(child));
    return child;
  };
  const start = (...args: readonly string[]) => startWith({}, args);
  const end = async () => {
    const ending = [...started].map((child) => once(child, 'close'));
    for (const child of started) child.kill('SIGKILL');
    await Promise.all(ending);
  };
  const run = async (args: readonly string[], stdin = '', more = {}): Promise<Outcome> => {
    const child = startWith(more, args);
    child.stdin.on('error', () => {}).end(stdin);
    const closed = once(child, 'close');
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    await closed;
    return { code: child.exitCode, stdout, stderr };
  };
  const ok = async (args: readonly string[], stdin?: string) => {
    const { code, stdout, stderr } = await run(args, stdin);
    if (code !== 0) throw new Error(`geode ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  };
  return {
    folder,
    env,
    start,
    startWith,
    run,
    ok,
    json: async (args) => JSON.parse(await ok([...args, '--json'])),
    sit: (args, size = {}) => sitDown([process.execPath, geodeProgram, ...args], { env, ...size }),
    host: () =>
      patiently(async () => {
        const words = await readFile(join(folder, '.local/state/geode/host.json'), 'utf8').catch(
          () => undefined,
        );
        return words === undefined ? undefined : (JSON.parse(words) as HostFacts);
      }, 'a host'),
    end,
    async [Symbol.asyncDispose]() {
      await end();
      const { sandboxes } = JSON.parse(await ok(['sandbox', 'ls', '--json'])) as {
        sandboxes: SandboxStatus[];
      };
      if (sandboxes.length > 0) await ok(['sandbox', 'rm', '--take-over', ...sandboxes.map(({ id }) => id)]);
      await ok(['host', 'stop']);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
