/** Sandboxes of a host that is not root: its limits, with a control group of its own and without. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import { eventually, fixture } from '../contracts/harness.ts';

const { bubblewrap } = inject('engines');
/** A user that no account and no sandbox of a test has. */
const uid = 61_234;
const root = '/sys/fs/cgroup';
/** The folder for temporary files of a test run is closed to that user. */
const shared = '/tmp';
const trees = ['memory', 'cpu', 'pids', 'freezer'].map((name) => join(root, name));
const unified = join(root, 'unified');

const missing = !bubblewrap.available
  ? bubblewrap.reason
  : process.getuid?.() === 0
    ? undefined
    : 'only root can become another user';
const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const hasVersion1 = trees.every((tree) => existsSync(join(tree, 'cgroup.procs')));
const hasVersion2 = existsSync(join(unified, 'cgroup.controllers'));

interface Asked {
  readonly argument?: string;
  /** Groups that the host is put into before it begins. */
  readonly groups?: readonly string[];
}

/** The output of that user's host about one action, in its own folder. */
async function asUser(deed: string, { argument = '', groups = [] }: Asked = {}): Promise<unknown> {
  const folder = await mkdtemp(join(shared, 'geode-ordinary-'));
  try {
    await chown(folder, uid, uid);
    const host = spawn(process.execPath, [fixture('ordinary-host.ts'), folder, deed, argument], {
      uid,
      gid: uid,
      env: { PATH: process.env.PATH, HOME: folder },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const said = text(host.stdout);
    for (const group of groups) await writeFile(join(group, 'cgroup.procs'), String(host.pid));
    host.stdin.end('begin\n');
    await once(host, 'exit');
    return JSON.parse(await said);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The command line of that user, in a home of its own. */
async function command(
  words: readonly string[],
): Promise<{ readonly code: number | null; readonly stdout: string }> {
  const home = await mkdtemp(join(shared, 'geode-ordinary-'));
  try {
    await chown(home, uid, uid);
    const running = spawn(process.execPath, [main, ...words], {
      uid,
      gid: uid,
      cwd: home,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        GEODE_SANDBOX_RUN_DIR: join(home, 'run'),
        GEODE_SANDBOX_LINGER: '0',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const said = text(running.stdout);
    const [code] = await once(running, 'exit');
    return { code, stdout: await said };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** Groups of that user in these trees, for as long as the test needs them. */
async function givenGroups(
  places: readonly string[],
): Promise<{ groups: readonly string[] } & AsyncDisposable> {
  const name = `geode-test-${randomBytes(6).toString('hex')}`;
  const groups = places.map((place) => join(place, name));
  for (const group of groups) {
    await mkdir(group);
    const files = await readdir(group);
    const given = files.filter((file) => ['cgroup.procs', 'cgroup.subtree_control', 'tasks'].includes(file));
    for (const path of [group, ...given.map((file) => join(group, file))]) await chown(path, uid, uid);
  }
  return {
    groups,
    async [Symbol.asyncDispose]() {
      for (const group of groups) {
        const below = (await readdir(group, { withFileTypes: true })).filter((entry) => entry.isDirectory());
        for (const path of [...below.map((entry) => join(group, entry.name)), group])
          await eventually(
            () =>
              rmdir(path).then(
                () => true,
                () => false,
              ),
            `${path} to be empty`,
          );
      }
    },
  };
}

const killed = { oomKilled: true, exitCode: null, signal: 'SIGKILL', stdout: '' };
const reason = missing === undefined ? '' : ` (skipped: ${missing})`;

describe.skipIf(missing !== undefined)(`a host that is not root${reason}`, { timeout: 180_000 }, () => {
  describe('without a control group of its own', () => {
    it('RT-7: reports memory and processes as soft limits', async () => {
      expect(await asUser('probe')).toMatchObject({
        limits: { memory: true, pids: true, cpus: false, disk: false },
        softLimits: ['memory', 'pids'],
      });
    });

    it('RT-7: the defaults hold: 512 MiB, and 256 tasks', async () => {
      const outcome = await asUser('limits');
      expect(outcome).toMatchObject({
        greedy: killed,
        fine: { exitCode: 0, stdout: '200000000\n', oomKilled: false },
        many: { exitCode: 0, stdout: expect.stringMatching(/^2[0-4]\d Resource temporarily unavailable\n$/) },
        oomKills: 1,
        limits: { memoryBytes: 512 * 1024 ** 2, pids: 256, cpus: null, diskBytes: null },
        softLimits: ['memory', 'pids'],
      });
    });

    it('RT-7: limits that are asked for hold too', async () => {
      expect(await asUser('small')).toMatchObject({
        greedy: killed,
        many: { stdout: expect.stringMatching(/^[1-3]\d Resource temporarily unavailable\n$/) },
      });
    });

    it('RT-7: null lifts them', async () => {
      expect(await asUser('lifted')).toMatchObject({ softLimits: [], large: { oomKilled: false } });
    });

    it('RT-7: the command line lists the soft limits, and how to make them hard', async () => {
      expect((await command(['status'])).stdout).toMatch(
        /bubblewrap .*limits memory, pids softly .*cannot limit cpus, disk here/,
      );
      const { stdout } = await command(['doctor', '--json']);
      expect(JSON.parse(stdout)).toContainEqual({
        name: 'bubblewrap limits',
        state: 'warning',
        found: expect.stringContaining('soft for memory and pids'),
        fix: expect.stringContaining('Delegate=yes'),
      });
    });

    it('CLI-2: geode doctor --attack is stopped by them; only the disk has no limit', async () => {
      const { code, stdout } = await command(['doctor', '--attack', '--runtime', 'bubblewrap', '--json']);
      const [{ attempts }] = JSON.parse(stdout).runtimes;
      const verdicts = attempts.map(({ name, verdict, by }: Record<string, string>) => [name, verdict, by]);
      expect(verdicts).toContainEqual(['take more memory than the limit', 'stopped', 'the memory limit']);
      expect(verdicts).toContainEqual([
        'start more processes than the limit',
        'stopped',
        'the limit of processes',
      ]);
      const through = verdicts.filter(([, verdict]: string[]) => verdict === 'got-through');
      expect({ code, through }).toEqual({ code: 1, through: [['fill the disk', 'got-through', 'nothing']] });
    });

    it('RT-7: refuses a limit that nothing can enforce', async () => {
      expect(await asUser('refused')).toEqual({
        cpus: 'cannot_enforce limits.cpus',
        disk: 'cannot_enforce limits.diskBytes',
      });
    });

    it('RT-7: the next host finds the limits enforced, and reports them as soft', async () => {
      expect(await asUser('adopted')).toMatchObject({ softLimits: ['memory', 'pids'], greedy: killed });
    });
  });

  const no1 = hasVersion1 ? '' : ' (skipped: this machine has no control groups of version 1)';
  describe.skipIf(!hasVersion1)(`in a group that was given to its user${no1}`, () => {
    it('RT-7: the kernel holds every limit but the disk', async () => {
      await using given = await givenGroups(trees);
      expect(await asUser('probe', given)).toEqual({
        limits: { memory: true, cpus: true, pids: true, disk: false },
        softLimits: [],
        pause: true,
      });
      expect(await asUser('limits', given)).toMatchObject({
        greedy: killed,
        fine: { exitCode: 0 },
        many: { stdout: expect.stringMatching(/^2[0-4]\d Resource temporarily unavailable\n$/) },
        oomKills: 1,
        limits: { memoryBytes: 512 * 1024 ** 2, cpus: 1, pids: 256 },
        softLimits: [],
      });
      expect(await asUser('paused', given)).toEqual({ refused: 'sandbox_paused', after: 'on\n' });
    });

    it('its sandboxes leave no group behind', async () => {
      await using given = await givenGroups(trees);
      expect(await asUser('groups', given)).toMatchObject({
        home: { version: 1 },
        traces: [expect.any(String)],
      });
      for (const group of given.groups) {
        const entries = await readdir(group, { withFileTypes: true });
        expect(entries.filter((entry) => entry.isDirectory())).toEqual([]);
      }
    });

    it('the guest enforces limits that the given group cannot', async () => {
      await using given = await givenGroups(trees.filter((tree) => tree.endsWith('pids')));
      expect(await asUser('probe', given)).toMatchObject({
        limits: { memory: true, pids: true, cpus: false },
        softLimits: ['memory'],
      });
      expect(await asUser('small', given)).toMatchObject({
        greedy: killed,
        many: { stdout: expect.stringContaining('Resource temporarily unavailable') },
      });
    });
  });

  it('RT-7: uses a delegated group of systemd, and no group that systemd still manages', async () => {
    const tree = await mkdtemp(join(shared, 'geode-cgroups-'));
    await chmod(tree, 0o755);
    const session = '/user.slice/user-1.slice/user@1.service/app.slice';
    const mine = [
      '/system.slice/geode.service',
      '/system.slice/geode.service/host',
      `${session}/delegated.scope`,
      `${session}/delegated.scope/geode-host`,
      `${session}/terminal.scope`,
      '/box',
      '/box/geode-host',
    ];
    const others = ['/user.slice/user-1.slice/session-3.scope', '/gone.service'];
    for (const path of [...mine, others[0] ?? '']) {
      await mkdir(join(tree, path), { recursive: true });
      const files = ['cgroup.procs', 'cgroup.subtree_control'].map((name) => join(tree, path, name));
      for (const file of files) await writeFile(file, '');
      if (mine.includes(path)) for (const owned of [join(tree, path), ...files]) await chown(owned, uid, uid);
    }
    const memberships = [...mine, ...others, '/../outside.service', ''];
    const found = await asUser('delegated', { argument: JSON.stringify({ root: tree, memberships }) });
    await rm(tree, { recursive: true });
    const service = join(tree, '/system.slice/geode.service');
    const scope = join(tree, `${session}/delegated.scope`);
    const box = join(tree, '/box');
    expect(found).toEqual([service, service, scope, scope, null, box, box, null, null, null, null]);
  });

  const no2 = hasVersion2 ? '' : ' (skipped: this machine has no control groups of version 2)';
  it.skipIf(!hasVersion2)(`moves itself out of a group of version 2 before it divides it${no2}`, async () => {
    await using given = await givenGroups([unified]);
    const [group = ''] = given.groups;
    const control = join(unified, 'cgroup.subtree_control');
    await writeFile(control, '+hugetlb');
    try {
      const outcome = await asUser('divided', { argument: group, groups: [group] });
      expect(outcome).toMatchObject({
        enabled: ['hugetlb'],
        membership: expect.stringMatching(/^0::.*\/geode-host$/m),
      });
    } finally {
      await writeFile(join(group, 'cgroup.subtree_control'), '-hugetlb');
      await writeFile(control, '-hugetlb').catch(() => {});
    }
  });
});
