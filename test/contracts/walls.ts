import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { roomOf } from '../../src/runtimes/rooms.ts';
import type { Network, Sandbox, SandboxSpec } from '../../src/seams/sandbox.ts';
import { eventually, fixtureText, type Harness } from './harness.ts';

const megabyte = 1024 ** 2;
const outcomesSchema = z.record(z.string(), z.string());
/** The output of `try-calls.py`. */
const callsSchema = z.object({
  refused: outcomesSchema,
  hidden: outcomesSchema,
  usual: outcomesSchema,
  passed: outcomesSchema,
});

/** Proves RT-5, RT-6, RT-7 and RT-10: a sandbox cannot leave its walls, and specs that a runtime cannot enforce are refused. */
export function wallsContract(harness: () => Harness): void {
  describe('walls', () => {
    let sandbox: Sandbox;
    let hostPort = 0;
    let knocks = 0;
    const server = createServer((socket) => {
      knocks += 1;
      socket.destroy();
    });
    beforeAll(async () => {
      sandbox = await harness().open();
      await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
      const address = server.address();
      hostPort = typeof address === 'object' && address !== null ? address.port : 0;
    });
    afterAll(() => {
      server.close();
    });

    it('RT-6: a sandbox reaches no network: IPv4, IPv6, names, metadata, the host or its bridges', async ({
      skip,
    }) => {
      skip(!harness().capabilities.isolation, 'this runtime has no walls');
      const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
      const targets = {
        v4: [
          ['127.0.0.1', hostPort],
          ['169.254.169.254', 80],
          ['1.1.1.1', 443],
          ['172.17.0.1', hostPort],
          ...own.filter(({ family }) => family === 'IPv4').map(({ address }) => [address, hostPort]),
        ],
        v6: [
          ['::1', hostPort],
          ['2606:4700:4700::1111', 443],
          ['fd00:ec2::254', 80],
          ['::ffff:169.254.169.254', 80],
        ],
        abstract: ['/containerd-shim/x', '@docker'],
      };
      const result = await sandbox.exec({
        argv: ['python3', '-', JSON.stringify(targets)],
        stdin: await fixtureText('reach-network.py'),
      });
      const { reached, interfaces } = JSON.parse(result.stdout);
      expect(reached).toEqual([]);
      expect(
        interfaces.filter((name: string) => name !== 'lo' && !/^(tunl|sit|gre|erspan|ip6)/.test(name)),
      ).toEqual([]);
      expect(knocks).toBe(0);
    });

    it("RT-6: the host's files, processes and secrets are out of reach", async ({ skip }) => {
      skip(!harness().capabilities.isolation, 'this runtime has no walls');
      const { stateDir, runDir } = harness().options;
      // Linux protects the first process of a sandbox from its own processes; gVisor does not.
      const end = harness().isGvisor ? '' : 'kill -9 1;';
      const script = `ls ${stateDir} ${runDir} /root/.ssh; cat /etc/shadow; cat /proc/1/environ; ${end} kill -0 ${process.pid}; ls /var/run/docker.sock`;
      const { stdout } = await sandbox.exec({ argv: ['/bin/sh', '-c', `(${script}) 2>/dev/null`] });
      expect(stdout).toBe('');
      expect((await sandbox.exec({ argv: ['echo', 'alive'] })).stdout).toBe('alive\n');
      const { stdout: pids } = await sandbox.exec({ argv: ['/bin/sh', '-c', 'ls /proc | grep -c "^[0-9]"'] });
      expect(Number(pids)).toBeLessThan(10);
    });

    it('RT-6: a process that kills the guest ends its own sandbox only', async ({ skip }) => {
      skip(!harness().isGvisor, 'its processes cannot kill the guest');
      const { runtime } = harness();
      const victim = await harness().open();
      await victim.exec({ argv: ['/bin/sh', '-c', 'kill -9 1; sleep 1000'] }).catch(() => {});
      const stateOf = async () => (await runtime.list()).find(({ id }) => id === victim.id)?.state;
      await eventually(async () => (await stateOf()) === 'stopped', 'its end', 60_000);
      await runtime.remove(victim.id);
      expect(await runtime.traces()).not.toContain(victim.id);
      expect((await sandbox.exec({ argv: ['echo', 'alive'] })).stdout).toBe('alive\n');
    });

    it('RT-6: runs without privileges: no capability, no new ones, not root', async ({ skip }) => {
      skip(!harness().capabilities.isolation, 'this runtime has no walls');
      const { stdout } = await sandbox.exec({ argv: ['cat', '/proc/self/status', '/proc/self/limits'] });
      // A core could go to a program of the host.
      if (harness().runtime.name !== 'apple') expect(stdout).toMatch(/Max core file size +0 +0 /);
      expect(stdout).toMatch(/NoNewPrivs:\s+1/);
      for (const set of ['CapPrm', 'CapEff', 'CapAmb', 'CapInh'])
        expect(stdout).toMatch(new RegExp(`${set}:\\s+0+\n`));
      expect(stdout).not.toMatch(/Uid:\s+0\s/);
    });

    it('the user has a name, a group and a home that every program finds', async ({ skip }) => {
      const { runtime } = harness();
      skip(runtime.name === 'native', "the user is the host's own");
      skip(runtime.name === 'apple', "Apple's program mounts folders only");
      const script =
        'import os, pwd, grp, getpass; u = pwd.getpwuid(os.getuid()); print(u.pw_name, grp.getgrgid(os.getgid()).gr_name, u.pw_dir, os.path.expanduser("~sandbox"), getpass.getuser(), pwd.getpwnam("root").pw_uid)';
      const { stdout, stderr } = await sandbox.exec({ argv: ['python3', '-c', script] });
      expect(stdout + stderr).toBe('sandbox sandbox /workspace /workspace sandbox 0\n');
      expect((await sandbox.exec({ argv: ['whoami'] })).stdout).toBe('sandbox\n');
    });

    it("RT-6: mount tables do not show the path of the operator's state", async ({ skip }) => {
      skip(!harness().capabilities.isolation, 'this runtime has no walls');
      const { stateDir, guestDir } = harness().options;
      const read = async (path: string) => (await sandbox.exec({ argv: ['cat', path] })).stdout;
      const mounts = await read('/proc/mounts');
      expect(mounts).toContain(' /workspace ');
      for (const place of [stateDir, guestDir]) expect(mounts).not.toContain(place);
      // Where no disk can be made the workspace is a folder of the host, and this table names it.
      if (harness().capabilities.limits.disk) {
        expect(await read('/proc/self/mountinfo')).not.toContain(stateDir);
      }
      const { stdout: disks } = await sandbox.exec({ argv: ['df'] });
      for (const place of [stateDir, guestDir]) expect(disks).not.toContain(place);
    });

    it('RT-6: refuses system calls that could bypass the walls, and allows ordinary ones', async ({
      skip,
    }) => {
      const { runtime, capabilities } = harness();
      skip(!capabilities.isolation, 'this runtime has no walls');
      skip(runtime.name === 'apple', 'a virtual machine has a kernel of its own to be called');
      skip(harness().isGvisor, 'gVisor answers calls itself, which a test of its own shows');
      const { stdout, stderr } = await sandbox.exec({
        argv: ['python3', '-'],
        stdin: await fixtureText('try-calls.py'),
      });
      if (stdout === '') throw new Error(stderr);
      const { refused, hidden, usual, passed } = callsSchema.parse(JSON.parse(stdout));
      const outcomes = (calls: Readonly<Record<string, string>>, expected: readonly string[]) =>
        Object.entries(calls).filter(([, outcome]) => !expected.includes(outcome));
      expect(outcomes(refused, ['EPERM', 'ENOSYS', 'SIGSYS'])).toEqual([]);
      expect(outcomes(hidden, ['ENOSYS'])).toEqual([]);
      expect(outcomes(usual, ['done'])).toEqual([]);
      expect(Object.entries(passed).filter(([, outcome]) => outcome === 'EPERM')).toEqual([]);
      expect(Object.keys(refused).length).toBeGreaterThan(25);
    });

    it('RT-6: the root file system is read-only, the workspace and /tmp are not', async ({ skip }) => {
      skip(!harness().capabilities.isolation, 'this runtime has no walls');
      const writable = async (path: string) =>
        (await sandbox.exec({ argv: ['/bin/sh', '-c', `echo x > ${path}`] })).exitCode === 0;
      expect(
        await Promise.all(['/x', '/usr/x', '/etc/x', '/.geode/x', '/.geode/guest'].map(writable)),
      ).toEqual([false, false, false, false, false]);
      expect(await Promise.all(['/workspace/x', '/tmp/x'].map(writable))).toEqual([true, true]);
      await sandbox.exec({
        argv: ['/bin/sh', '-c', 'printf "#!/bin/sh\\necho runs" > /tmp/p; chmod +x /tmp/p'],
      });
      expect((await sandbox.exec({ argv: ['/tmp/p'] })).stdout).toBe('runs\n');
    });

    it('RT-12: a command killed by the memory limit reports it, and the sandbox continues', async ({
      skip,
    }) => {
      skip(!harness().capabilities.limits.memory, 'this runtime cannot limit memory');
      skip(harness().isGvisor, 'the kernel kills all of gVisor, and the next test shows what follows');
      const small = await harness().open({ limits: { memoryBytes: 96 * megabyte } });
      const result = await small.exec({
        argv: ['python3', '-c', 'x = bytearray(400_000_000); print(len(x))'],
      });
      expect(result).toMatchObject({ oomKilled: true, exitCode: null, signal: 'SIGKILL', stdout: '' });
      const fine = await small.exec({ argv: ['echo', 'alive'] });
      expect(fine).toMatchObject({ stdout: 'alive\n', oomKilled: false });
      await small.stop();
    });

    it('RT-12: more memory than the limit ends a sandbox with its own kernel, and the error names the limit', async ({
      skip,
    }) => {
      skip(!harness().isGvisor, "the machine's kernel kills the largest process only");
      const { runtime } = harness();
      const small = await harness().open({ limits: { memoryBytes: 128 * megabyte } });
      const running = small.exec({
        argv: ['python3', '-c', 'x = bytearray(400_000_000); print(len(x))'],
      });
      await expect(running).rejects.toMatchObject({
        code: 'sandbox_gone',
        message: expect.stringContaining('memory'),
      });
      await runtime.remove(small.id);
      expect(await runtime.traces()).not.toContain(small.id);
      expect((await sandbox.exec({ argv: ['echo', 'alive'] })).stdout).toBe('alive\n');
    });

    it('RT-6: a fork bomb stops at the process limit, and the host is not affected', async ({ skip }) => {
      skip(!harness().capabilities.limits.pids, 'this runtime cannot limit processes');
      const small = await harness().open({ limits: { pids: 40 } });
      const explode = (timeoutMs: number) =>
        small.exec({ argv: ['/bin/sh', '-c', 'b() { b | b & }; b; sleep 1'], timeoutMs });
      let bomb = await explode(4_000);
      // On a slow machine the timeout may come before the first refused fork.
      if (bomb.stderr === '') bomb = await explode(60_000);
      expect(bomb.stderr).toMatch(/fork|resource/i);
      await small.stop();
      expect((await harness().runtime.list()).map(({ id }) => id)).not.toContain(small.id);
    });

    it('RT-6: processor time is shared out by the limit', async ({ skip }) => {
      skip(!harness().capabilities.limits.cpus, 'this runtime cannot limit processor time');
      const small = await harness().open({ limits: { cpus: harness().runtime.name === 'apple' ? 1 : 0.5 } });
      // Each process works for 2 s, and for at least 0.3 s of processor time, which a busy machine may give late.
      const burn =
        'import os, time; [os.fork() for _ in range(2)]; t = time.time()\nwhile time.time() - t < 2 or time.process_time() < 0.3: pass';
      // In gVisor's accounts a process uses the processor also while the machine makes it wait.
      const usedMs = harness().isGvisor
        ? () => usedByGroup(roomOf(harness().options, small.id).runFolder)
        : async () => (await small.metrics()).cpuMs;
      const before = await usedMs();
      const { durationMs } = await small.exec({ argv: ['python3', '-c', burn] });
      const used = (await usedMs()) - before;
      expect(used).toBeGreaterThan(200);
      expect(used / durationMs).toBeLessThan(harness().runtime.name === 'apple' ? 1.4 : 0.8);
      await small.stop();
    });

    it('RT-7: null lifts a limit, a number is enforced', async ({ skip }) => {
      const { limits } = harness().capabilities;
      skip(!limits.memory, 'this runtime cannot limit memory');
      const free = await harness().open({
        limits: { memoryBytes: null, cpus: null, ...(limits.pids ? { pids: null } : {}) },
      });
      const result = await free.exec({
        argv: ['python3', '-c', 'x = bytearray(700_000_000); print(len(x))'],
      });
      expect(result.stdout.trim()).toBe('700000000');
      await free.stop();
      const limited = await harness().open({ limits: { openFiles: 128 } });
      expect((await limited.exec({ argv: ['/bin/sh', '-c', 'ulimit -n'] })).stdout.trim()).toBe('128');
      await limited.stop();
    });

    it.for<[string, SandboxSpec]>([
      ['memory 0', { limits: { memoryBytes: 0 } }],
      ['memory -1', { limits: { memoryBytes: -1 } }],
      ['memory NaN', { limits: { memoryBytes: Number.NaN } }],
      ['memory 1 MiB', { limits: { memoryBytes: megabyte } }],
      ['memory 20.5 bytes more', { limits: { memoryBytes: 64 * megabyte + 0.5 } }],
      ['cpus 0', { limits: { cpus: 0 } }],
      ['cpus NaN', { limits: { cpus: Number.NaN } }],
      ['cpus 1e300', { limits: { cpus: 1e300 } }],
      ['a disk of 9 TiB', { limits: { diskBytes: 9 * 1024 ** 4 } }],
      ['2,000,000 open files', { limits: { openFiles: 2_000_000 } }],
      ['pids 1', { limits: { pids: 1 } }],
      ['pids 10.5', { limits: { pids: 10.5 } }],
      ['disk 1 MiB', { limits: { diskBytes: megabyte } }],
      ['disk 64.5 bytes', { limits: { diskBytes: 64 * megabyte + 0.5 } }],
      ['open files 3', { limits: { openFiles: 3 } }],
      ['a lease of 10 ms', { leaseMs: 10 }],
      ['a name of a variable', { env: { 'A B': 'x' } }],
      ['a NUL in a variable', { env: { A: '\0' } }],
    ])('RT-7: refuses %s', async ([, spec]) => {
      await expect(harness().runtime.open(spec)).rejects.toMatchObject({ code: 'invalid_input' });
    });

    it.for(['host', 'container:abc', 'default'])('RT-10: refuses the network %j', async (network) => {
      await expect(harness().runtime.open({ network: network as Network })).rejects.toMatchObject({
        code: 'cannot_enforce',
      });
    });

    it('RT-5: refuses more than it can enforce', async () => {
      const { runtime, capabilities } = harness();
      const refused = (spec: SandboxSpec) =>
        expect(runtime.open(spec)).rejects.toMatchObject({ code: 'cannot_enforce' });
      const found = await runtime.probe();
      if (found.available && found.grade !== 'kernel') await refused({ minimumGrade: 'kernel' });
      if (!capabilities.images) await refused({ image: 'alpine:3.22' });
      if (!capabilities.limits.memory) await refused({ limits: { memoryBytes: 256 * megabyte } });
      if (!capabilities.limits.cpus) await refused({ limits: { cpus: 1 } });
      if (!capabilities.limits.pids) await refused({ limits: { pids: 64 } });
      if (!capabilities.limits.disk) await refused({ limits: { diskBytes: 64 * megabyte } });
      if (!capabilities.mounts) await refused({ mounts: [{ source: '/usr', target: '/mnt' }] });
      if (!capabilities.networks.includes('bridge')) await refused({ network: 'bridge' });
      if (capabilities.users === 'never') await refused({ rootAccess: true });
    });

    it('leaves no sandbox behind after every refusal', async () => {
      const ids = async () => (await harness().runtime.list()).map(({ id }) => id).sort();
      const before = await ids();
      await expect(harness().runtime.open({ limits: { memoryBytes: -5 } })).rejects.toThrow();
      expect(await ids()).toEqual(before);
    });
  });
}

/** The processor time, in ms, that the machine's kernel counts for the processes in the control group of a sandbox. */
async function usedByGroup(runFolder: string): Promise<number> {
  const { folders } = z
    .object({ folders: z.array(z.string()) })
    .parse(JSON.parse(await readFile(join(runFolder, 'cgroup.json'), 'utf8')));
  const pids = await readFile(join(folders[0] ?? '', 'cgroup.procs'), 'utf8');
  let ticks = 0;
  for (const pid of pids.split('\n').filter(Boolean)) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    // After the name: the times of the process and of its ended children, in 1/100 s, are the fields 12 to 15.
    for (const field of stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15))
      ticks += Number(field);
  }
  return ticks * 10;
}
