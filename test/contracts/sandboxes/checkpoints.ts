import { execFileSync } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { roomOf } from '../../../src/runtimes/rooms.ts';
import type { EventBody } from '../../../src/seams/events.ts';
import type { PersistentSandbox } from '../../../src/seams/persistent.ts';
import { allowing, testNames, toHere } from '../../egress/hatch-fixture.ts';
import { egressIn, type SandboxWorld } from '../../sandboxes/world.ts';
import { events } from '../exec.ts';
import { eventually } from '../harness.ts';
import { hostingIn } from './hosting.ts';

/** Prints and writes the same numbers, and holds them in memory. */
const counter =
  'import time\nlog = open("log", "a", buffering=1)\ni = 0\nwhile True: log.write(f"{i}\\n"); print(i, flush=True); i += 1; time.sleep(0.02)';

/** OCI-3 OCI-4: what a user does with the memory of a sandbox. */
export function sandboxCheckpointsContract(open: () => Promise<SandboxWorld>): void {
  const hosting = hostingIn(open);

  describe('checkpoints', () => {
    it('OCI-3: a fork of a running sandbox counts on, beside its source, with files and journal of that moment', () =>
      hosting(async (first, world) => {
        await first[Symbol.asyncDispose]();
        const told: EventBody[] = [];
        await using sandboxes = await world.host({
          events: { emit: (_user, body) => told.push(body) },
        });
        const mine = sandboxes.of('ann');
        const source = await mine.getOrCreate('demo', { env: { WORD: 'kept' } });
        const { id } = await counting(source);
        const copy = await mine.fork('demo', 'copy', { live: true });
        expect(copy.id).not.toBe(source.id);
        await Promise.all([countsOn(source), countsOn(copy)]);
        expect((await copy.exec({ argv: ['sh', '-c', 'echo $WORD'] })).stdout).toBe('kept\n');
        await copy.signal(id, 'SIGKILL');
        const { stdout } = await events(await copy.attach(id));
        const printed = stdout.trim().split('\n').map(Number);
        expect(printed).toEqual(printed.map((_value, index) => index));
        expect((await source.processes()).processes).toMatchObject([{ id, state: 'running' }]);
        expect((await mine.checkpoints('demo')).checkpoints).toEqual([]);
        await expect(mine.fork('demo', 'copy', { live: true })).rejects.toMatchObject({
          code: 'sandbox_exists',
        });
        expect(told).toContainEqual({
          type: 'sandbox-fork',
          from: source.id,
          sandbox: copy.id,
          chat: 'copy',
        });
      }));

    it('OCI-3: checkpoints are kept, listed and removed; a copy continues from one while its source is stopped', () =>
      hosting(async (sandboxes) => {
        const mine = sandboxes.of('ann');
        const source = await mine.getOrCreate('demo');
        await counting(source);
        const taken = await mine.checkpoint('demo', { name: 'ready' });
        expect(taken).toMatchObject({ name: 'ready', format: expect.stringMatching(/^gVisor /) });
        await expect(mine.checkpoint('demo', { name: 'ready' })).rejects.toMatchObject({
          code: 'checkpoint_exists',
        });
        await countsOn(source);
        expect(await mine.checkpoint('demo')).toMatchObject({ name: '1' });
        expect((await mine.checkpoints('demo')).checkpoints.map(({ name }) => name)).toEqual(['ready', '1']);
        expect(await mine.removeCheckpoint('demo', '1')).toBe(true);
        expect(await mine.removeCheckpoint('demo', '1')).toBe(false);
        const later = await numbersIn(source);
        await mine.stop('demo');
        const copy = await mine.fork('demo', 'copy', { live: true, checkpoint: 'ready' });
        await countsOn(copy);
        const numbers = await numbersIn(copy);
        expect(numbers).toEqual(numbers.map((_value, index) => index));
        expect(later.length).toBeGreaterThan(5);
        const nothing = { live: true, checkpoint: 'other' };
        await expect(mine.fork('demo', 'more', nothing)).rejects.toMatchObject({
          code: 'checkpoint_not_found',
        });
        await expect(mine.fork('demo', 'more', { live: true })).rejects.toMatchObject({
          code: 'sandbox_stopped',
        });
        expect(await mine.list()).toHaveLength(2);
      }));

    it('OCI-3: the quota of a user and the limit of running sandboxes hold for checkpoints and forks', () =>
      hosting(async (first, world) => {
        await first[Symbol.asyncDispose]();
        await using sandboxes = await world.host({
          mostCheckpointBytes: 1000,
          most: { most: 100, mostPerUser: 1 },
        });
        const mine = sandboxes.of('ann');
        const source = await mine.getOrCreate('demo');
        await counting(source);
        await expect(mine.checkpoint('demo')).rejects.toMatchObject({ code: 'checkpoint_limit' });
        expect(await mine.checkpoints('demo')).toEqual({ checkpoints: [], diskBytes: 0 });
        await expect(mine.fork('demo', 'copy', { live: true })).rejects.toMatchObject({
          code: 'too_many_sandboxes',
        });
        await countsOn(source);
        expect((await world.runtime.list()).map(({ id }) => id)).toEqual([source.id]);
      }));

    it('OCI-3 OCI-4 OCI-5: a disk that fills while memory is saved leaves the sandbox running and nothing half-written', () =>
      hosting(async (sandboxes, { options }) => {
        const mine = sandboxes.of('ann');
        const source = await mine.getOrCreate('demo');
        await counting(source);
        const { checkpoints } = roomOf(options, source.id);
        await mkdir(checkpoints, { recursive: true });
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', checkpoints]);
        try {
          await expect(mine.checkpoint('demo', { name: 'large' })).rejects.toMatchObject({
            code: 'disk_full',
          });
          await countsOn(source);
          expect(await mine.checkpoints('demo')).toEqual({ checkpoints: [], diskBytes: 0 });
          expect(await readdir(join(checkpoints, 'drafts')).catch(() => [])).toEqual([]);
        } finally {
          // gVisor has not closed the file that it could not write.
          execFileSync('umount', ['--lazy', checkpoints]);
        }
        await countsOn(source);
        expect(await mine.checkpoint('demo', { name: 'fits' })).toMatchObject({ name: 'fits' });
      }));

    it('OCI-4: a hibernated sandbox is woken by the next call, also under the next host, with every process', () =>
      hosting(async (sandboxes, world) => {
        const mine = sandboxes.of('ann');
        const sandbox = await mine.getOrCreate('demo');
        const { id } = await counting(sandbox);
        await mine.hibernate('demo');
        await mine.hibernate('demo');
        expect(await mine.inspect('demo')).toMatchObject({ state: 'hibernated' });
        await sandboxes[Symbol.asyncDispose]();
        const next = (await world.host()).of('ann');
        expect(await next.inspect('demo')).toMatchObject({ state: 'hibernated' });
        const awake = await next.start('demo');
        await countsOn(awake);
        expect((await awake.processes()).processes).toMatchObject([{ id, state: 'running' }]);
        const numbers = await numbersIn(awake);
        expect(numbers).toEqual(numbers.map((_value, index) => index));
        await next.hibernate('demo');
        await next.stop('demo');
        expect(await next.inspect('demo')).toMatchObject({ state: 'stopped' });
        expect((await (await next.start('demo')).processes()).processes).toEqual([]);
      }));

    it('OCI-4: by policy an idle sandbox hibernates with its waiting processes, and a working sandbox does not', () =>
      hosting(async (first, world) => {
        // Under a host without a policy: on a slow machine one is idle while the other is made.
        const [waiting, working] = await Promise.all(
          ['waiting', 'working'].map((chat) => first.of('ann').getOrCreate(chat)),
        );
        const reader = 'word = "kept"; print(word, input(), flush=True)';
        const process = await waiting?.spawn({
          argv: ['python3', '-c', reader],
          interactive: true,
          timeoutMs: null,
        });
        await working?.spawn({ argv: ['sh', '-c', 'while :; do :; done'], timeoutMs: null });
        await first[Symbol.asyncDispose]();
        const policy = { idleMs: 1_500, removeMs: null, idle: 'hibernate' } as const;
        // Each look costs some CPU, so they are far apart.
        await using sandboxes = await world.host({ policy, sweepEveryMs: 1_000 });
        const mine = sandboxes.of('ann');
        const stateOf = async (chat: string) => (await mine.inspect(chat)).state;
        await eventually(
          async () => (await stateOf('waiting')) === 'hibernated',
          'the idle one to hibernate',
        );
        expect(await stateOf('working')).toBe('running');
        const joined = await (await mine.start('waiting')).attach(process?.id ?? '');
        await joined.write('awake\n');
        expect((await events(joined)).stdout).toBe('kept awake\n');
      }));

    it('OCI-3: connections through the hatch end in the source and in the copy; both can open new ones', () =>
      hosting(async (first, world) => {
        await first[Symbol.asyncDispose]();
        const egress = egressIn(world.options.stateDir, { resolve: testNames });
        await using sandboxes = await world.host({ egress });
        const held: (() => void)[] = [];
        const server = createServer((request, response) => {
          if (request.url === '/wait') held.push(() => response.end('late'));
          else response.end('again');
        });
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
        try {
          const { port } = server.address() as AddressInfo;
          const mine = sandboxes.of('ann');
          const source = await mine.getOrCreate('demo', { egress: allowing(toHere('here.test', port)) });
          const script = `import urllib.request as u, time
try: u.urlopen("http://here.test:${port}/wait", timeout=60).read(); print("late")
except Exception as e: print("cut")
for _ in range(100):
  try: print(u.urlopen("http://here.test:${port}/", timeout=5).read().decode()); break
  except Exception: time.sleep(0.1)`;
          const { id } = await source.spawn({ argv: ['python3', '-c', script] });
          await eventually(async () => held.length === 1, 'the open connection');
          const copy = await mine.fork('demo', 'copy', { live: true });
          for (const each of [source, copy]) {
            const { stdout } = await events(await each.attach(id));
            expect(stdout).toBe('cut\nagain\n');
          }
        } finally {
          server.closeAllConnections();
          server.close();
        }
      }));
  });
}

/** On runtimes without that capability everything is refused, with the reason. */
export function noCheckpointsContract(open: () => Promise<SandboxWorld>): void {
  it('OCI-3: where memory cannot be saved, checkpoints, live forks and hibernation are refused with the reason', () =>
    hostingIn(open)(async (sandboxes) => {
      const mine = sandboxes.of('ann');
      await mine.getOrCreate('demo');
      const refused = { code: 'cannot_enforce', message: expect.stringContaining('gVisor') };
      await expect(mine.checkpoint('demo')).rejects.toMatchObject(refused);
      await expect(mine.fork('demo', 'copy', { live: true })).rejects.toMatchObject(refused);
      await expect(mine.hibernate('demo')).rejects.toMatchObject(refused);
      expect(await mine.list()).toMatchObject([{ chat: 'demo', state: 'running' }]);
    }));
}

async function counting(sandbox: PersistentSandbox) {
  const process = await sandbox.spawn({ argv: ['python3', '-c', counter], timeoutMs: null });
  await eventually(async () => (await numbersIn(sandbox)).length > 5, 'the counter');
  return process;
}

async function countsOn(sandbox: PersistentSandbox): Promise<void> {
  const { length } = await numbersIn(sandbox);
  await eventually(async () => (await numbersIn(sandbox)).length > length + 3, 'the counter to count on');
}

async function numbersIn(sandbox: PersistentSandbox): Promise<readonly number[]> {
  if (!(await sandbox.files.exists('log'))) return [];
  const text = await sandbox.files.readText('log');
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)
    .map(Number);
}
