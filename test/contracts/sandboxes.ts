import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GeodeError } from '../../src/core/errors.ts';
import type { Sandboxes } from '../../src/core/persistent.ts';
import type { Runtime } from '../../src/core/runtime.ts';
import { roomOf } from '../../src/runtimes/rooms.ts';
import { reap } from '../../src/sandboxes/reap.ts';
import type { SandboxWorld } from '../sandboxes/world.ts';
import { events } from './exec.ts';
import { eventually } from './harness.ts';

/** What every registry of sandboxes must do, whatever runtime they are made by. */
export function sandboxesContract(open: () => Promise<SandboxWorld>): void {
  const hosting = async (work: (sandboxes: Sandboxes, world: SandboxWorld) => Promise<void>) => {
    await using world = await open();
    await work(await world.host(), world);
    expect(world.warnings).toEqual([]);
  };

  describe('one for each user and chat', () => {
    it('SBX-1: fifty calls at once get one sandbox, and each its own handle', () =>
      hosting(async (sandboxes, { runtime }) => {
        const mine = sandboxes.of('ann');
        const handles = await Promise.all(Array.from({ length: 50 }, () => mine.getOrCreate('chat')));
        expect(new Set(handles.map(({ id }) => id)).size).toBe(1);
        expect(await runtime.list()).toHaveLength(1);
        expect(await mine.list()).toMatchObject([{ user: 'ann', chat: 'chat', state: 'running' }]);
        const [first, last] = [handles[0], handles[49]];
        await first?.files.write('a', 'text');
        expect(await last?.files.readText('a')).toBe('text');
      }));

    it('SBX-1 SBX-2: names that run into each other, hostile and huge ones: one sandbox each, nothing leaks', () =>
      hosting(async (sandboxes) => {
        const names: readonly (readonly [string, string])[] = [
          ['a-b', 'c'],
          ['a', 'b-c'],
          ['a"', ',"b'],
          ['a', '","b'],
          ['../..', '../../etc'],
          ['/', '\u0000'],
          ['\u0000', '/'],
          ['Zoë', 'é\u0301\u{1f480}'],
          ['Zoe\u0308', 'é\u0301\u{1f480}'],
          ['x'.repeat(4096), 'y'],
          ['x'.repeat(4095), 'xy'],
          ["'; DROP TABLE sandboxes; --", '%_*?'],
          ['\n\r\t\u001b[31m', '--help'],
        ];
        const made = await Promise.all(
          names.map(async ([user, chat], index) => {
            const sandbox = await sandboxes.of(user).getOrCreate(chat);
            await sandbox.files.write('whose', String(index));
            return sandbox;
          }),
        );
        expect(new Set(made.map(({ id }) => id)).size).toBe(names.length);
        for (const [index, [user, chat]] of names.entries()) {
          const own = await sandboxes.of(user).list();
          expect(own.every((status) => status.user === user)).toBe(true);
          expect(own.map((status) => status.chat)).toContain(chat);
          const again = await sandboxes.of(user).getOrCreate(chat);
          expect(await again.files.readText('whose')).toBe(String(index));
          expect(again.id).toMatch(/^[a-z0-9-]{1,40}$/);
        }
      }));

    it('SBX-1: no name, half a character and endless names are refused', () =>
      hosting(async (sandboxes, { runtime }) => {
        for (const name of ['', '\ud800', 'x'.repeat(9000)]) {
          expect(() => sandboxes.of(name)).toThrow(expect.objectContaining({ code: 'invalid_input' }));
          await expect(sandboxes.of('ann').getOrCreate(name)).rejects.toMatchObject({
            code: 'invalid_input',
          });
        }
        expect(await runtime.list()).toEqual([]);
      }));

    it("SBX-2: another user's chat of the same name is not to be had, stopped, renamed or removed", () =>
      hosting(async (sandboxes) => {
        const sandbox = await sandboxes.of('ann').getOrCreate('chat');
        const eve = sandboxes.of('eve');
        await expect(eve.start('chat')).rejects.toMatchObject({ code: 'sandbox_not_found' });
        await expect(eve.inspect('chat')).rejects.toMatchObject({ code: 'sandbox_not_found' });
        await expect(eve.stop('chat')).rejects.toMatchObject({ code: 'sandbox_not_found' });
        await expect(eve.extend('chat', 1000)).rejects.toMatchObject({ code: 'sandbox_not_found' });
        await expect(eve.rename('chat', 'mine')).rejects.toMatchObject({ code: 'sandbox_not_found' });
        await expect(eve.journals('chat')).rejects.toMatchObject({ code: 'sandbox_not_found' });
        expect(await eve.remove('chat')).toBe(false);
        expect(await eve.list()).toEqual([]);
        expect((await sandbox.exec({ argv: ['echo', 'alive'] })).stdout).toBe('alive\n');
      }));
  });

  describe('its life', () => {
    it('SBX-2 SBX-4: stop keeps the files, start brings them back, remove leaves nothing', () =>
      hosting(async (sandboxes, { runtime, options }) => {
        const mine = sandboxes.of('ann');
        const sandbox = await mine.getOrCreate('chat', { env: { COLOUR: 'blue' }, labels: { kind: 'test' } });
        await sandbox.files.write('kept', 'yes');
        const server = await sandbox.spawn({
          argv: ['/bin/sh', '-c', 'trap "echo bye; exit 3" TERM; echo up; while :; do sleep 0.1; done'],
          timeoutMs: null,
        });
        for await (const event of server) if (event.type === 'stdout') break;
        await Promise.all([mine.stop('chat'), mine.stop('chat')]);
        expect(await mine.inspect('chat')).toMatchObject({ state: 'stopped', labels: { kind: 'test' } });
        await expect(sandbox.exec({ argv: ['true'] })).rejects.toMatchObject({ code: 'sandbox_stopped' });
        const journal = (await mine.journals('chat')).open(server.id);
        expect(journal.exit).toMatchObject({ exitCode: 3 });
        const again = await mine.start('chat');
        expect(again.id).toBe(sandbox.id);
        expect(await again.files.readText('kept')).toBe('yes');
        expect((await again.exec({ argv: ['/bin/sh', '-c', 'echo $COLOUR'] })).stdout).toBe('blue\n');
        expect(await events(await again.attach(server.id))).toMatchObject({ stdout: 'up\nbye\n' });
        expect(await mine.remove('chat')).toBe(true);
        expect(await mine.remove('chat')).toBe(false);
        await expect(again.exec({ argv: ['true'] })).rejects.toMatchObject({ code: 'sandbox_gone' });
        await expect(mine.start('chat')).rejects.toMatchObject({ code: 'sandbox_not_found' });
        expect(await runtime.traces()).toEqual([]);
        expect(existsSync(roomOf(options, sandbox.id).folder)).toBe(false);
      }));

    it('SBX-2: what is asked for must be what is there', () =>
      hosting(async (sandboxes, world) => {
        const mine = sandboxes.of('ann');
        await mine.getOrCreate('chat', { env: { A: '1' }, limits: { openFiles: 512 } });
        await mine.getOrCreate('chat');
        await mine.getOrCreate('chat', { limits: { openFiles: 512 } });
        await mine.getOrCreate('chat', { runtime: world.runtime.name, limits: { openFiles: 512 } });
        for (const wrong of [{ imgae: 'x' }, { owner: 'eve' }, { id: 'x' }, { env: { A: 1 } }]) {
          await expect(mine.getOrCreate('third', wrong as object)).rejects.toMatchObject({
            code: 'invalid_input',
          });
        }
        const other = mine.getOrCreate('chat', { limits: { openFiles: 1024 } });
        await expect(other).rejects.toMatchObject({ code: 'sandbox_exists', details: { field: 'limits' } });
        await expect(mine.getOrCreate('other', { env: { 'A B': '1' } })).rejects.toMatchObject({
          code: 'invalid_input',
        });
        expect(await mine.list()).toHaveLength(1);
      }));

    it('SBX-2: labels, lease and name can be changed; a name that is taken cannot be had', () =>
      hosting(async (sandboxes, world) => {
        const mine = sandboxes.of('ann');
        const { id } = await mine.getOrCreate('one');
        await mine.getOrCreate('two');
        expect(await mine.label('one', { colour: 'red' })).toMatchObject({ labels: { colour: 'red' } });
        await expect(mine.label('one', { 'not a name': 'x' })).rejects.toMatchObject({
          code: 'invalid_input',
        });
        const { keptUntil } = await mine.extend('one', 60_000);
        expect(keptUntil).toBeGreaterThan(Date.now() + 50_000);
        expect(await mine.extend('one', 10)).toMatchObject({ keptUntil });
        for (const ms of [-1, 1.5, Number.NaN, Number.MAX_SAFE_INTEGER]) {
          await expect(mine.extend('one', ms)).rejects.toMatchObject({ code: 'invalid_input' });
          await expect(mine.thinkingUntil('one', ms)).rejects.toMatchObject({ code: 'invalid_input' });
        }
        await expect(mine.rename('one', 'two')).rejects.toMatchObject({ code: 'sandbox_exists' });
        await expect(mine.rename('one', 'one')).rejects.toMatchObject({ code: 'sandbox_exists' });
        const [renamed] = await Promise.allSettled([mine.rename('one', 'three'), mine.rename('two', 'one')]);
        expect(renamed.status).toBe('fulfilled');
        expect(await mine.inspect('three')).toMatchObject({ id, labels: { colour: 'red' }, keptUntil });
        await sandboxes[Symbol.asyncDispose]();
        const next = await world.host();
        expect(await next.of('ann').inspect('three')).toMatchObject({ id, state: 'running', keptUntil });
      }));

    it('SBX-3: a user, and all together, may run only so many; stopping one makes room', async () => {
      await using world = await open();
      const sandboxes = await world.host({ most: { most: 3, mostPerUser: 2 } });
      const [ann, bob] = [sandboxes.of('ann'), sandboxes.of('bob')];
      const outcomes = await Promise.allSettled(['1', '2', '3', '4'].map((chat) => ann.getOrCreate(chat)));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
      expect(
        outcomes.filter((outcome) => outcome.status === 'rejected').map(({ reason }) => reason.code),
      ).toEqual(['too_many_sandboxes', 'too_many_sandboxes']);
      await bob.getOrCreate('1');
      await expect(bob.getOrCreate('2')).rejects.toMatchObject({ code: 'too_many_sandboxes' });
      const [first, second] = (await ann.list()).map(({ chat }) => chat);
      if (first === undefined || second === undefined) throw new Error('there should be two');
      await ann.stop(first);
      await bob.getOrCreate('2');
      await expect(ann.start(first)).rejects.toMatchObject({ code: 'too_many_sandboxes' });
      await bob.remove('1');
      await ann.start(first);
      expect(await world.runtime.list()).toHaveLength(3);
    });

    it('SBX-2: a sandbox that was killed is found stopped, and starts again with its files', () =>
      hosting(async (sandboxes, { runtime }) => {
        const mine = sandboxes.of('ann');
        const sandbox = await mine.getOrCreate('chat');
        await sandbox.files.write('kept', 'yes');
        const running = await sandbox.spawn({ argv: ['sleep', '1000'], timeoutMs: null });
        await runtime.halt(sandbox.id);
        const outcome = await events(running).catch((error) => error);
        expect(outcome.code === 'sandbox_gone' || outcome.exit.signal !== null).toBe(true);
        await eventually(
          async () => (await mine.inspect('chat')).state === 'stopped',
          'the end to be noticed',
        );
        const again = await mine.getOrCreate('chat');
        expect(await again.files.readText('kept')).toBe('yes');
      }));

    it('cancelled calls leave nothing, and those that wait with them get theirs', () =>
      hosting(async (sandboxes, { runtime }) => {
        const mine = sandboxes.of('ann');
        const stop = new AbortController();
        const first = mine.getOrCreate('chat', {}, { signal: stop.signal });
        const second = mine.getOrCreate('chat');
        setTimeout(() => stop.abort(), 10);
        await first.catch((error) => expect(error).toMatchObject({ code: 'cancelled' }));
        expect((await (await second).exec({ argv: ['echo', 'mine'] })).stdout).toBe('mine\n');
        expect(await runtime.list()).toHaveLength(1);
      }));
  });

  describe('its files', () => {
    const shell = (text: string) => ({ argv: ['/bin/sh', '-c', text] as const });

    it('SBX-7: a snapshot, what changed since, and the way back, while a process runs', () =>
      hosting(async (sandboxes) => {
        const sandbox = await sandboxes.of('ann').getOrCreate('chat');
        const { snapshots } = sandbox;
        if (snapshots === undefined) throw new Error('its files are on this host');
        await sandbox.exec(shell('mkdir d; echo one > d/one; echo two > two; ln -s /etc/passwd link'));
        const ticking = await sandbox.spawn({
          ...shell('i=0; while :; do echo $i; i=$((i+1)); sleep 0.02; done'),
          timeoutMs: null,
        });
        await snapshots.take({ name: 'first' });
        await sandbox.exec(shell('echo more >> d/one; rm two; echo three > three'));
        const changes = [];
        for await (const { path, change } of snapshots.diff('first')) changes.push(`${change} ${path}`);
        expect(changes).toEqual(['modified d/one', 'added three', 'removed two']);
        await snapshots.restore('first');
        expect((await sandbox.exec(shell('cat d/one two; ls; readlink link'))).stdout).toBe(
          'one\ntwo\nd\nlink\ntwo\n/etc/passwd\n',
        );
        const before = (await sandbox.attach(ticking.id)).id;
        expect(before).toBe(ticking.id);
        const seen = sandbox.journals.open(ticking.id).length;
        await eventually(async () => sandbox.journals.open(ticking.id).length > seen, 'the process to go on');
      }));

    it('SBX-7: the file changes of the last command are undone, one command after the other', () =>
      hosting(async (sandboxes) => {
        const sandbox = await sandboxes.of('ann').getOrCreate('chat');
        await sandbox.exec(shell('echo 1 > a'), { undoable: true });
        await sandbox.exec(shell('echo 2 > a; rm -rf /tmp/x; mkdir -p deep/er; echo b > deep/er/b'), {
          undoable: true,
        });
        await sandbox.snapshots?.undo();
        expect((await sandbox.exec(shell('cat a; ls'))).stdout).toBe('1\na\n');
        await sandbox.snapshots?.undo();
        expect((await sandbox.exec(shell('ls'))).stdout).toBe('');
        await expect(sandbox.snapshots?.undo()).rejects.toMatchObject({ code: 'snapshot_not_found' });
      }));

    it('SBX-7: a handle of one that was stopped cannot touch the files that the next one has', () =>
      hosting(async (sandboxes) => {
        const mine = sandboxes.of('ann');
        const { snapshots, files } = await mine.getOrCreate('chat');
        if (snapshots === undefined) throw new Error('its files are on this host');
        await files.write('a', '1');
        await snapshots.take({ name: 'early' });
        await mine.stop('chat');
        const stopped = { code: 'sandbox_stopped' };
        await expect(snapshots.restore('early')).rejects.toMatchObject(stopped);
        const again = await mine.start('chat');
        await again.files.write('a', '2');
        await expect(snapshots.restore('early')).rejects.toMatchObject(stopped);
        await expect(snapshots.take()).rejects.toMatchObject(stopped);
        await expect(snapshots.remove('early')).rejects.toMatchObject(stopped);
        await expect(snapshots.diff('early')[Symbol.asyncIterator]().next()).rejects.toMatchObject(stopped);
        expect(await again.files.readText('a')).toBe('2');
        await again.snapshots?.restore('early');
        expect(await again.files.readText('a')).toBe('1');
      }));

    it('SBX-7: a fork of a running sandbox has its files, and is its own from then on', () =>
      hosting(async (sandboxes) => {
        const mine = sandboxes.of('ann');
        const sandbox = await mine.getOrCreate('chat', { env: { COLOUR: 'green' } });
        await sandbox.exec(shell('echo 1 > a; mkdir d; echo x > d/x; chmod 640 a'));
        await sandbox.snapshots?.take({ name: 'early' });
        await sandbox.exec(shell('echo 2 > a'));
        const [fork, early] = [
          await mine.fork('chat', 'fork'),
          await mine.fork('chat', 'early', { snapshot: 'early' }),
        ];
        expect((await fork.exec(shell('cat a d/x; stat -c %a a; echo $COLOUR; echo 3 > a'))).stdout).toBe(
          '2\nx\n640\ngreen\n',
        );
        expect((await early.exec(shell('cat a'))).stdout).toBe('1\n');
        expect((await sandbox.exec(shell('cat a'))).stdout).toBe('2\n');
        await expect(mine.fork('chat', 'fork')).rejects.toMatchObject({ code: 'sandbox_exists' });
        await expect(mine.fork('none', 'other')).rejects.toMatchObject({ code: 'sandbox_not_found' });
        await expect(mine.fork('chat', 'x', { snapshot: 'nothing' })).rejects.toMatchObject({
          code: 'snapshot_not_found',
        });
        expect((await mine.list()).map(({ chat }) => chat)).toEqual(['chat', 'fork', 'early']);
        await mine.stop('chat');
        const late = await mine.fork('chat', 'late');
        expect((await late.exec(shell('cat a d/x'))).stdout).toBe('2\nx\n');
        expect(await mine.inspect('chat')).toMatchObject({ state: 'stopped' });
        await mine.remove('chat');
        expect((await fork.exec(shell('cat a'))).stdout).toBe('3\n');
      }));

    it('SBX-9: paused it stands still, is swept as what is idle, and goes on when it is asked for', async () => {
      await using world = await open();
      const sandboxes = await world.host({ policy: { idleMs: 1_000, removeMs: null } });
      const mine = sandboxes.of('ann');
      const sandbox = await mine.getOrCreate('chat');
      const found = await world.runtime.probe();
      if (!found.available || !found.capabilities.pause) {
        await expect(mine.pause('chat')).rejects.toMatchObject({ code: 'cannot_enforce' });
        return;
      }
      const ticking = await sandbox.spawn({
        ...shell('while :; do echo tick; sleep 0.02; done'),
        timeoutMs: null,
      });
      await mine.pause('chat');
      expect(await mine.inspect('chat')).toMatchObject({ state: 'paused' });
      await expect(sandbox.exec(shell('true'))).rejects.toMatchObject({ code: 'sandbox_paused' });
      await sandboxes[Symbol.asyncDispose]();
      const next = await world.host({ policy: { idleMs: 1_000, removeMs: null } });
      const again = next.of('ann');
      expect(await again.inspect('chat')).toMatchObject({ state: 'paused' });
      const length = (await again.journals('chat')).open(ticking.id).length;
      await again.getOrCreate('chat');
      expect(await again.inspect('chat')).toMatchObject({ state: 'running' });
      await eventually(
        async () => (await again.journals('chat')).open(ticking.id).length > length,
        'it to go on',
      );
      await again.pause('chat');
      await eventually(async () => {
        await next.sweep();
        return (await again.inspect('chat')).state === 'stopped';
      }, 'the paused one to be stopped');
    });
  });

  describe('hosts', () => {
    it('SBX-6: the next host has every sandbox, every process and every byte', () =>
      hosting(async (sandboxes, world) => {
        const sandbox = await sandboxes.of('ann').getOrCreate('chat', { env: { WORD: 'line' } });
        const script =
          'i=0; while [ $i -lt 2000 ]; do echo $WORD $i; i=$((i+1)); done; sleep 1; echo last; exit 4';
        const process = await sandbox.spawn({ argv: ['/bin/sh', '-c', script], timeoutMs: null });
        for await (const event of process) if (event.type === 'stdout' && event.offset > 1000) break;
        const reading = events(await sandbox.attach(process.id));
        reading.catch(() => {});
        await sandboxes[Symbol.asyncDispose]();
        await expect(reading).rejects.toMatchObject({ code: 'sandbox_gone' });

        const next = await world.host();
        const again = await next.of('ann').getOrCreate('chat');
        expect(again.id).toBe(sandbox.id);
        const readers = await Promise.all([again.attach(process.id), again.attach(process.id, { from: 7 })]);
        const [all, rest] = await Promise.all(readers.map((reader) => events(reader)));
        const whole = `${Array.from({ length: 2000 }, (_, index) => `line ${index}\n`).join('')}last\n`;
        expect(all).toMatchObject({ stdout: whole, exit: { exitCode: 4 } });
        expect(rest?.stdout).toBe(whole.slice(7));
        expect((await again.exec({ argv: ['/bin/sh', '-c', 'echo $WORD'] })).stdout).toBe('line\n');
      }));

    it('PROC-1: a process that writes on while nobody reads does not stand still', () =>
      hosting(async (sandboxes) => {
        const sandbox = await sandboxes.of('ann').getOrCreate('chat');
        const process = await sandbox.spawn({
          argv: ['/bin/sh', '-c', 'head -c 20000000 /dev/zero; echo end > done'],
        });
        await eventually(() => sandbox.files.exists('done'), 'the end of the process');
        const { exit, lost, stdout } = await measured(await sandbox.attach(process.id));
        expect(exit).toMatchObject({ exitCode: 0 });
        expect(stdout + lost).toBe(20_000_000);
      }));

    it('SBX-6: without the ledger, everything is found again in what is there', () =>
      hosting(async (sandboxes, world) => {
        const sandbox = await sandboxes.of('ann').getOrCreate('chat', { labels: { a: 'b' } });
        await sandboxes.of('bob').getOrCreate('chat');
        await sandboxes.of('bob').stop('chat');
        await sandboxes[Symbol.asyncDispose]();
        const { rm } = await import('node:fs/promises');
        for (const suffix of ['', '-wal', '-shm'])
          await rm(`${world.options.stateDir}/ledger.db${suffix}`, { force: true });
        const next = await world.host();
        expect(await next.of('ann').list()).toMatchObject([
          { id: sandbox.id, chat: 'chat', state: 'running', labels: { a: 'b' } },
        ]);
        expect(await next.of('bob').list()).toMatchObject([{ chat: 'chat', state: 'stopped' }]);
      }));

    it('SBX-6: what belongs to somebody is not reaped, whatever the ledger knows', () =>
      hosting(async (sandboxes, world) => {
        const sandbox = await sandboxes.of('ann').getOrCreate('chat');
        await sandbox.files.write('kept', 'yes');
        await sandboxes[Symbol.asyncDispose]();
        const reaped = await reap([world.runtime], () => true);
        expect(reaped).toEqual([]);
        const next = await world.host();
        expect(await (await next.of('ann').start('chat')).files.readText('kept')).toBe('yes');
      }));

    it('SBX-6: a runtime that cannot be asked, or fails to adopt once, costs nobody anything', async () => {
      await using world = await open();
      const first = await world.host();
      const sandbox = await first.of('ann').getOrCreate('chat');
      const process = await sandbox.spawn({ argv: ['sleep', '1000'], timeoutMs: null });
      await first[Symbol.asyncDispose]();
      let failures = 2;
      const shaky: Runtime = {
        ...world.runtime,
        adopt: (id, cancel) => {
          failures -= 1;
          return failures >= 0
            ? Promise.reject(new GeodeError('timed_out', 'not now'))
            : world.runtime.adopt(id, cancel);
        },
      };
      const next = await world.host({
        runtimes: [shaky],
        sweepEveryMs: 50,
        policy: { idleMs: null, removeMs: 1 },
      });
      await eventually(async () => failures < 0, 'another try');
      const again = await next.of('ann').start('chat');
      expect((await again.processes()).processes).toMatchObject([{ id: process.id, state: 'running' }]);
      await next[Symbol.asyncDispose]();
      const blind: Runtime = {
        ...world.runtime,
        probe: async () => ({ available: false, reason: 'away', fix: 'wait' }),
        list: async () => [],
        traces: async () => [],
      };
      const third = await world.host({ runtimes: [blind] });
      await third[Symbol.asyncDispose]();
      const fourth = await world.host();
      expect(await fourth.of('ann').inspect('chat')).toMatchObject({ id: sandbox.id, state: 'running' });
    });

    it.skipIf(process.getuid?.() !== 0)(
      'SBX-8: on a full disk sandboxes can be stopped, removed and let go of (where the test may mount one)',
      async () => {
        await using world = await open();
        // An engine may live where a mount of the test is not seen.
        if (world.runtime.images !== undefined) return;
        const { stateDir } = world.options;
        mkdirSync(stateDir, { recursive: true, mode: 0o700 });
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m,mode=700', 'tmpfs', stateDir]);
        await using _disk = {
          async [Symbol.asyncDispose]() {
            for (const id of await world.runtime.traces()) await world.runtime.remove(id);
            execFileSync('umount', ['--lazy', stateDir]);
          },
        };
        await using sandboxes = await world.host();
        const mine = sandboxes.of('ann');
        await mine.getOrCreate('one');
        await mine.getOrCreate('two');
        const filler = join(stateDir, 'filler');
        execFileSync('/bin/sh', ['-c', 'cat /dev/zero > "$1" 2>/dev/null || true', 'sh', filler]);
        await expect(mine.extend('two', 1000)).rejects.toMatchObject({ code: 'disk_full' });
        await sandboxes.sweep();
        await mine.stop('one');
        expect(await mine.inspect('one')).toMatchObject({ state: 'stopped' });
        await mine.remove('one').catch((error) => expect(error).toMatchObject({ code: 'disk_full' }));
        expect((await world.runtime.list()).map(({ state }) => state)).toEqual(['running']);
        rmSync(filler);
        await mine.remove('one');
        expect(await mine.list()).toMatchObject([{ chat: 'two', state: 'running' }]);
      },
    );

    it('SBX-6: one host at a time; another is refused with the name of the first, and may take over', () =>
      hosting(async (sandboxes, world) => {
        const refusal = await world.host().catch((error) => error);
        expect(refusal).toMatchObject({ code: 'ledger_held', details: { pid: process.pid } });
        expect(refusal.hint).toContain(`kill ${process.pid}`);
        setTimeout(() => void sandboxes[Symbol.asyncDispose](), 100);
        const next = await world.host({ waitMs: 10_000 });
        await next.of('ann').getOrCreate('chat');
      }));

    it('RUN-8 SBX-1: a new chat takes a blank sandbox of the pool, and what is left of the pool goes with the host', async () => {
      await using world = await open();
      const sandboxes = await world.host({ pool: { floor: 1, ceiling: 2 } });
      await sandboxes.warm(2);
      const blank = (await world.runtime.list()).map(({ id }) => id);
      expect(blank).toHaveLength(2);
      const { id } = await sandboxes.of('ann').getOrCreate('chat');
      expect(blank).toContain(id);
      expect((await sandboxes.of('ann').list()).map((status) => status.id)).toEqual([id]);
      await sandboxes[Symbol.asyncDispose]();
      expect((await world.runtime.list()).map((facts) => facts.id)).toEqual([id]);
      const next = await world.host();
      expect(await next.of('ann').inspect('chat')).toMatchObject({ id, state: 'running' });
    });
  });

  describe('the sweep', () => {
    it('SBX-5: stops what is idle, keeps what works, is leased or thought about, then removes what is old', async () => {
      await using world = await open();
      const sandboxes = await world.host({ policy: { idleMs: 1_000, removeMs: 2_500 } });
      const mine = sandboxes.of('ann');
      const chats = ['idle', 'working', 'disowned', 'read', 'leased', 'thinking'] as const;
      const [, working, disowned, read] = await Promise.all(chats.map((chat) => mine.getOrCreate(chat)));
      const process = await working?.spawn({ argv: ['sleep', '1000'], timeoutMs: null });
      await disowned?.exec({ argv: ['/bin/sh', '-c', '(sleep 1000 >/dev/null 2>&1 &)'] });
      await read?.files.write('big', 'x'.repeat(8_000_000));
      const stream = read?.files.stream('big')[Symbol.asyncIterator]();
      await stream?.next();
      await mine.extend('leased', 600_000);
      await mine.thinkingUntil('thinking', Date.now() + 600_000);
      const stateOf = async (chat: string) => (await mine.inspect(chat)).state;
      await eventually(async () => {
        await sandboxes.sweep();
        return (await stateOf('idle')) === 'stopped';
      }, 'the idle one to be stopped');
      for (const chat of chats.slice(1)) expect(await stateOf(chat), chat).toBe('running');

      await process?.kill();
      await stream?.return?.();
      await mine.thinkingUntil('thinking', 0);
      await eventually(async () => {
        await sandboxes.sweep();
        return (await mine.list()).every(
          ({ chat, state }) => state === 'stopped' || ['disowned', 'leased'].includes(chat),
        );
      }, 'those that came to rest to be stopped');
      await eventually(async () => {
        await sandboxes.sweep();
        return (await mine.list()).length === 2;
      }, 'the old ones to be removed');
      expect((await mine.list()).map(({ chat, state }) => [chat, state])).toEqual([
        ['disowned', 'running'],
        ['leased', 'running'],
      ]);
    });

    it('SBX-5: sweeps by itself', async () => {
      await using world = await open();
      const sandboxes = await world.host({ policy: { idleMs: 50, removeMs: 100 }, sweepEveryMs: 20 });
      await sandboxes.of('ann').getOrCreate('chat');
      await eventually(async () => (await sandboxes.of('ann').list()).length === 0, 'it to be removed');
      await eventually(async () => (await world.runtime.traces()).length === 0, 'every trace to go');
    });
  });
}

async function measured(process: AsyncIterable<import('../../src/core/process.ts').ProcessEvent>) {
  let [stdout, lost] = [0, 0];
  for await (const event of process) {
    if (event.type === 'stdout') stdout += event.bytes.length;
    if (event.type === 'output-lost') lost += event.length;
    if (event.type === 'exit') return { exit: event, stdout, lost };
  }
  throw new Error('no exit');
}
