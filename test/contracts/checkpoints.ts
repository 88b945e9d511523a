import { chown, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RuntimeCheckpoints } from '../../src/seams/checkpoints.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { events } from './exec.ts';
import { eventually, type Harness } from './harness.ts';

/** A program that keeps a number in memory, and writes it to a file and to its output. */
const counter =
  'import time, os\nlog = open("log", "a", buffering=1)\ni = 0\nwhile True: log.write(f"{i}\\n"); print(i, flush=True); i += 1; time.sleep(0.02)';

/** OCI-3 OCI-4: sandboxes whose memory is saved, copied and continued. */
export function checkpointsContract(harness: () => Harness): void {
  describe('checkpoints', () => {
    const stateOf = async ({ id }: Pick<Sandbox, 'id'>) =>
      (await harness().runtime.list({ ids: [id] }))[0]?.state;
    const able = (sandbox: Sandbox) => {
      if (sandbox.checkpoints === undefined) throw new Error('there are no checkpoints');
      return sandbox.checkpoints;
    };
    const kept = (): RuntimeCheckpoints => {
      const { checkpoints } = harness().runtime;
      if (checkpoints === undefined) throw new Error('the runtime has no checkpoints');
      return checkpoints;
    };
    const counting = async (sandbox: Sandbox) => {
      const process = await sandbox.spawn({ argv: ['python3', '-c', counter], timeoutMs: null });
      await eventually(async () => (await last(sandbox)) >= 5, 'the counter');
      return process;
    };
    const last = async (sandbox: Sandbox) => {
      const { stdout } = await sandbox.exec({ argv: ['sh', '-c', 'tail -n 1 log 2>/dev/null || true'] });
      return stdout === '' ? -1 : Number(stdout);
    };
    const moves = async (sandbox: Sandbox) => {
      const before = await last(sandbox);
      await eventually(async () => (await last(sandbox)) > before + 3, 'the counter to count on');
      return before;
    };
    const folderFor = async (sandbox: Sandbox) => {
      const folder = await kept().folder(sandbox.id);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      return join(folder, 'test');
    };
    /** Saved with its files: a copy of the workspace while it is frozen. */
    const saved = async (sandbox: Sandbox, isDurable = true) => {
      const folder = await folderFor(sandbox);
      let log = '';
      const memory = await able(sandbox).save(folder, { isDurable });
      try {
        const { workspaces } = harness().runtime;
        await using place = await workspaces?.hold(sandbox.id);
        log = await readFile(join(place?.workspace ?? '', 'log'), 'utf8').catch(() => '');
      } finally {
        await memory[Symbol.asyncDispose]();
      }
      const facts = await memory.seal();
      const open = (id: string) =>
        kept().open({
          source: sandbox.id,
          folder,
          id,
          fill: async ({ workspace, owner: { uid } }) => {
            await writeFile(join(workspace, 'log'), log);
            await chown(join(workspace, 'log'), uid, uid);
          },
        });
      return { folder, facts, open };
    };

    it('OCI-3: a runtime that can save memory declares it, and the others have no checkpoints', async () => {
      const sandbox = await harness().open();
      expect(sandbox.checkpoints !== undefined).toBe(harness().capabilities.checkpoints);
      await sandbox.stop();
    });

    it('OCI-3: a copy of a running sandbox and its source both count on from the same number', async ({
      skip,
    }) => {
      skip(!harness().capabilities.checkpoints, 'this runtime cannot save memory');
      const sandbox = await harness().open();
      const process = await counting(sandbox);
      const { facts, open } = await saved(sandbox, false);
      expect(facts.memoryBytes).toBeGreaterThan(1_000_000);
      expect(facts.format).toMatch(/^gVisor (build [0-9a-f]{16}|[0-9.]+) /);
      await moves(sandbox);
      const copy = await open('copy-of-counter');
      try {
        const from = await moves(copy);
        expect(from).toBeGreaterThanOrEqual(0);
        await moves(sandbox);
        const numbers = (await copy.files.readText('log')).trim().split('\n').map(Number);
        expect(numbers).toEqual(numbers.map((_, index) => index));
        // Its journal starts with what the source had written, and goes on.
        const reading = events(await copy.attach(process.id));
        await copy.signal(process.id, 'SIGKILL');
        const printed = (await reading).stdout.trim().split('\n').map(Number);
        expect(printed).toEqual(printed.map((_, index) => index));
        expect(printed.length).toBeGreaterThan(5);
        // Nothing is shared.
        await copy.files.write('own', 'copy');
        expect(await sandbox.files.exists('own')).toBe(false);
        expect((await sandbox.processes()).processes).toMatchObject([{ id: process.id, state: 'running' }]);
        await sandbox.stop();
        expect((await copy.exec({ argv: ['echo', 'alive'] })).stdout).toBe('alive\n');
      } finally {
        await copy.stop();
      }
    });

    it('OCI-3: a copy has its own secret and its own user on the disk', async ({ skip }) => {
      skip(!harness().capabilities.checkpoints, 'this runtime cannot save memory');
      const { options, runtime } = harness();
      const sandbox = await harness().open();
      const { open } = await saved(sandbox);
      const copy = await open('copy-with-secret');
      const record = async (id: string) =>
        JSON.parse(await readFile(join(options.stateDir, 'sandboxes', id, 'record.json'), 'utf8'));
      const [one, other] = [await record(sandbox.id), await record(copy.id)];
      expect(other.secret).not.toBe(one.secret);
      expect(other.formerSecret).toBeUndefined();
      expect(other.user.uid).not.toBe(one.user.uid);
      expect(other.runFolder).not.toBe(one.runFolder);
      await copy.files.write('mine', 'x');
      await copy.release();
      const adopted = await runtime.adopt(copy.id);
      expect(await adopted.files.readText('mine')).toBe('x');
      await adopted.stop();
      await sandbox.stop();
    });

    it('OCI-4: a hibernated sandbox uses no process, and its next start continues everything', async ({
      skip,
    }) => {
      skip(!harness().capabilities.checkpoints, 'this runtime cannot save memory');
      const { runtime } = harness();
      const sandbox = await harness().open();
      const process = await counting(sandbox);
      await able(sandbox).hibernate();
      expect(await stateOf(sandbox)).toBe('hibernated');
      await expect(sandbox.exec({ argv: ['true'] })).rejects.toMatchObject({ code: 'sandbox_stopped' });
      const awake = await runtime.start(sandbox.id);
      expect(await stateOf(sandbox)).toBe('running');
      expect((await awake.processes()).processes).toMatchObject([{ id: process.id, state: 'running' }]);
      await moves(awake);
      const numbers = (await awake.files.readText('log')).trim().split('\n').map(Number);
      expect(numbers).toEqual(numbers.map((_, index) => index));
      // The memory on disk is out of date now.
      const folder = join(harness().options.stateDir, 'sandboxes', sandbox.id);
      expect(await readdir(folder)).not.toContain('hibernation');
      await awake.stop();
    });

    it('OCI-4: a hibernated sandbox can be halted, which drops its memory, and removed', async ({ skip }) => {
      skip(!harness().capabilities.checkpoints, 'this runtime cannot save memory');
      const { runtime } = harness();
      const sandbox = await harness().open();
      await counting(sandbox);
      await able(sandbox).hibernate();
      await runtime.halt(sandbox.id, { keepMemory: true });
      expect(await stateOf(sandbox)).toBe('hibernated');
      await runtime.halt(sandbox.id);
      expect(await stateOf(sandbox)).toBe('stopped');
      const again = await runtime.start(sandbox.id);
      expect((await again.processes()).processes).toEqual([]);
      expect(await again.files.exists('log')).toBe(true);
      const { checkpoints } = again;
      await checkpoints?.hibernate();
      await runtime.remove(sandbox.id);
      expect(await runtime.traces()).not.toContain(sandbox.id);
    });

    it('OCI-3 OCI-4: damaged, foreign and unknown memory is refused whole, and the files stay', async ({
      skip,
    }) => {
      skip(!harness().capabilities.checkpoints, 'this runtime cannot save memory');
      const { options, runtime } = harness();
      const sandbox = await harness().open();
      const { folder, open } = await saved(sandbox);
      const pages = join(folder, 'memory', 'pages.img');
      const whole = await readFile(pages);
      const spoilt = Buffer.from(whole);
      spoilt[spoilt.length >> 1] = (spoilt[spoilt.length >> 1] ?? 0) ^ 1;
      await writeFile(pages, spoilt);
      await expect(open('copy-damaged')).rejects.toMatchObject({ code: 'checkpoint_damaged' });
      await truncate(pages, 100);
      await expect(open('copy-damaged')).rejects.toMatchObject({ code: 'checkpoint_damaged' });
      await writeFile(pages, whole);
      const facts = join(folder, 'memory.json');
      const text = await readFile(facts, 'utf8');
      await writeFile(facts, JSON.stringify({ ...JSON.parse(text), sandbox: 'another' }));
      await expect(open('copy-foreign')).rejects.toMatchObject({ code: 'checkpoint_damaged' });
      await writeFile(facts, JSON.stringify({ ...JSON.parse(text), format: 'gVisor 1 x64' }));
      await expect(open('copy-old')).rejects.toMatchObject({ code: 'checkpoint_version' });
      await rm(facts);
      await expect(open('copy-unfinished')).rejects.toMatchObject({ code: 'checkpoint_damaged' });
      expect((await runtime.traces()).filter((id) => id.startsWith('copy-'))).toEqual([]);

      await sandbox.files.write('kept', 'yes');
      await able(sandbox).hibernate();
      const memory = join(options.stateDir, 'sandboxes', sandbox.id, 'hibernation', 'memory.json');
      const saw = await readFile(memory, 'utf8');
      await writeFile(memory, JSON.stringify({ ...JSON.parse(saw), format: 'gVisor 1 x64' }));
      await expect(runtime.start(sandbox.id)).rejects.toMatchObject({ code: 'checkpoint_version' });
      expect(await stateOf(sandbox)).toBe('hibernated');
      await writeFile(memory, saw);
      const awake = await runtime.start(sandbox.id);
      expect(await awake.files.readText('kept')).toBe('yes');
      await awake.stop();
    });
  });
}
