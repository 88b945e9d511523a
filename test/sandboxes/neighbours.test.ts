import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { isOrphan } from '../../src/pool/host-mark.ts';
import { reap } from '../../src/pool/reap.ts';
import { connectEngine } from '../../src/runtimes/docker/engine.ts';
import { containerName } from '../../src/runtimes/home.ts';
import { roomOf } from '../../src/runtimes/rooms.ts';
import type { Runtime, RuntimeName } from '../../src/seams/runtime.ts';
import { fixture, optionsIn, type TestOptions, type World } from '../contracts/harness.ts';
import { eachOf } from '../each-of.ts';
import { hostIn, runtimeIn } from './world.ts';

const { bubblewrap, docker } = inject('engines');

const places = [
  { name: 'bubblewrap', world: {}, unavailable: bubblewrap.available ? undefined : bubblewrap.reason },
  {
    name: 'docker',
    world: docker.available ? { dockerSocket: docker.socket } : {},
    unavailable: docker.available ? undefined : docker.reason,
  },
] as const;

for (const { name, world, unavailable } of places) {
  const reason = unavailable === undefined ? '' : ` (skipped: ${unavailable})`;
  describe.skipIf(unavailable !== undefined)(
    `${name}: two state folders with one run folder${reason}`,
    () => {
      it('SBX-6 RUN-6: killed and restarted hosts reap only sandboxes of their own folder', {
        timeout: 300_000,
      }, async () => {
        await using shared = await runFolder();
        await using left = await side(shared.path, name, world);
        await using right = await side(shared.path, name, world);
        const [ofLeft, ofRight] = await Promise.all([left.live(), right.live()]);
        await left.die();
        await right.die();
        const before = await left.running();
        expect(before).toContain(ofLeft.sandbox);
        expect(before.filter((id) => isOrphan('run', id))).toHaveLength(1);
        expect(eachOf(before).every((id) => isOrphan('run', id) || isOrphan('room', id))).toBe(true);

        // Nobody holds what is on the left; by their ids all of them are orphans.
        const rightHost = await hostIn(right.folder, right.world, name);
        await right.reapAll();
        await rightHost.of('ann').start('chat');
        await rightHost[Symbol.asyncDispose]();
        expect(await right.running()).toEqual([ofRight.sandbox]);
        expect(await left.running()).toEqual(before);

        const leftHost = await hostIn(left.folder, left.world, name);
        await left.reapAll();
        const sandbox = await leftHost.of('ann').start('chat');
        expect(sandbox.id).toBe(ofLeft.sandbox);
        expect((await sandbox.processes()).processes).toMatchObject([
          { id: ofLeft.process, state: 'running' },
        ]);
        await leftHost.of('ann').remove('chat');
        await leftHost[Symbol.asyncDispose]();
        expect(await left.running()).toEqual([]);
        expect(await right.running()).toEqual([ofRight.sandbox]);
        const again = await hostIn(right.folder, right.world, name);
        const kept = await again.of('ann').start('chat');
        expect((await kept.processes()).processes).toMatchObject([{ id: ofRight.process, state: 'running' }]);
        await again[Symbol.asyncDispose]();
      });

      it('sandboxes with the same id in two folders are separate', { timeout: 120_000 }, async () => {
        await using shared = await runFolder();
        await using left = await side(shared.path, name, world);
        await using right = await side(shared.path, name, world);
        const [one, two] = await Promise.all([
          left.runtime.open({ id: 'same' }),
          right.runtime.open({ id: 'same' }),
        ]);
        await one.files.write('whose', 'left');
        await two.files.write('whose', 'right');
        await one.stop();
        expect(await left.runtime.traces()).toEqual([]);
        expect((await two.exec({ argv: ['cat', 'whose'] })).stdout).toBe('right');
        await left.runtime.remove('same');
        expect((await two.exec({ argv: ['cat', 'whose'] })).stdout).toBe('right');
        await two.stop();
      });

      it('SBX-4: a sandbox of an older version is found, continues, restarts, and is removed without traces', {
        timeout: 120_000,
      }, async () => {
        await using shared = await runFolder();
        await using place = await side(shared.path, name, world);
        const made = await place.runtime.open({ limits: { diskBytes: null } });
        const { id } = made;
        await made.files.write('note', 'kept');
        await made.release();
        await makeOld(place.options, name, id);

        const adopted = await place.runtime.adopt(id);
        expect((await adopted.exec({ argv: ['cat', 'note'] })).stdout).toBe('kept');
        await adopted.halt();
        const started = await place.runtime.start(id);
        expect((await started.exec({ argv: ['cat', 'note'] })).stdout).toBe('kept');
        await started.stop();
        expect(await place.runtime.traces()).toEqual([]);
        expect(await place.runtime.list()).toEqual([]);
      });
    },
  );
}

interface Side extends AsyncDisposable {
  readonly folder: string;
  readonly world: World;
  readonly options: TestOptions;
  readonly runtime: Runtime;
  /** A host in a process of its own, with everything at work. */
  live(): Promise<{ readonly sandbox: string; readonly process: string }>;
  die(): Promise<void>;
  /** One pass of both reapers, as a host does it. */
  reapAll(): Promise<void>;
  running(): Promise<readonly string[]>;
}

const lineSchema = z.object({ sandbox: z.string(), process: z.string() });

async function side(runDir: string, name: RuntimeName, given: World): Promise<Side> {
  const folder = await mkdtemp(join(tmpdir(), 'geode-test-'));
  const world = { ...given, runDir };
  const options = await optionsIn(folder, world);
  const runtime = await runtimeIn(folder, world, name);
  let host: ReturnType<typeof spawn> | undefined;
  const die = async () => {
    if (host === undefined || host.exitCode !== null || host.signalCode !== null) return;
    const exited = once(host, 'exit');
    host.kill('SIGKILL');
    await exited;
  };
  return {
    folder,
    world,
    options,
    runtime,
    die,
    async live() {
      const child = spawn(
        process.execPath,
        [fixture('neighbour-host.ts'), folder, JSON.stringify(world), name],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      host = child;
      for await (const line of createInterface(child.stdout)) return lineSchema.parse(JSON.parse(line));
      throw new Error('the host ended before everything was at work');
    },
    async reapAll() {
      const known = new Set((await runtime.list()).filter(({ owner }) => owner !== null).map(({ id }) => id));
      const isLeft = (id: string) => isOrphan('run', id) || (isOrphan('room', id) && !known.has(id));
      await reap([runtime], isLeft, { signal: AbortSignal.abort() });
    },
    async running() {
      const all = await runtime.list();
      return all
        .filter(({ state }) => state === 'running')
        .map(({ id }) => id)
        .sort();
    },
    async [Symbol.asyncDispose]() {
      await die();
      for (const id of await runtime.traces()) await runtime.remove(id);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function runFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'geode-test-'));
  return {
    path: join(folder, 'run'),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** As the first versions left it: one run folder for all, containers by the id alone, neither written down. */
async function makeOld(options: TestOptions, name: RuntimeName, id: string): Promise<void> {
  const { folder, runFolder: own } = roomOf(options, id);
  await rename(own, join(dirname(dirname(own)), id));
  const file = join(folder, 'record.json');
  const { runFolder: _, ...record } = JSON.parse(await readFile(file, 'utf8'));
  const old = name === 'docker' ? { ...record, handle: `geode-${id}` } : record;
  await writeFile(file, JSON.stringify(old), { mode: 0o600 });
  if (name === 'docker') {
    const engine = await connectEngine(options.docker.host);
    await engine.getContainer(containerName(options, id)).rename({ name: `geode-${id}` });
  }
}
