import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import { egressContract } from '../contracts/egress.ts';
import { begunBeforeTimeout, fixtureText, type Harness, openHarness } from '../contracts/harness.ts';
import { ensureGvisor } from '../engine/index.ts';

const { docker } = inject('engines');
const buildDeadlineMs = 900_000;

// gVisor's own kernel differs where the contract looks closely (docs/runtimes.md says how), so this is not the whole of it.
describe.skipIf(!docker.available)(
  `docker with gVisor${docker.available ? '' : ` (skipped: ${docker.reason})`}`,
  () => {
    let harness: Harness;
    beforeAll(async () => {
      await ensureGvisor();
      harness = await openHarness((options) => dockerRuntime(options, options.docker), {
        ociRuntime: 'runsc',
        ...(docker.available ? { dockerSocket: docker.socket } : {}),
      });
    }, buildDeadlineMs);
    afterAll(() => harness?.close());

    it('RT-1 RT-5: a sandbox has its own kernel, and reports the matching grade', async () => {
      const sandbox = await harness.open({ minimumGrade: 'kernel' });
      expect(sandbox.grade).toBe('kernel');
      expect((await sandbox.exec({ argv: ['cat', '/proc/version'] })).stdout).toContain('gvisor');
      await sandbox.files.write('file', 'content');
      expect((await sandbox.exec({ argv: ['cat', 'file'] })).stdout).toBe('content');
      const loud = await sandbox.exec({ argv: ['/bin/sh', '-c', 'echo out; echo err >&2; exit 7'] });
      expect(loud).toMatchObject({ stdout: 'out\n', stderr: 'err\n', exitCode: 7 });
    });

    it('the user has a name and a home there too, also in an image without accounts', async () => {
      const sandbox = await harness.open();
      const { stdout } = await sandbox.exec({
        argv: ['python3', '-c', 'import os, pwd; print(*pwd.getpwuid(os.getuid())[::5])'],
      });
      expect(stdout).toBe('sandbox /workspace\n');
      const bare = await harness.open({ image: 'geode-test/distroless:1' });
      const { stdout: line } = await bare.exec({
        argv: ['/busybox/sh', '-c', 'read line < /etc/passwd; echo $line'],
      });
      expect(line).toMatch(/^sandbox:x:(\d+):\1:/);
    });

    it('RT-6: kernel interfaces that could bypass the walls do not exist inside', async () => {
      const sandbox = await harness.open();
      const { stdout, stderr } = await sandbox.exec({
        argv: ['python3', '-'],
        stdin: await fixtureText('try-calls.py'),
      });
      if (stdout === '') throw new Error(stderr);
      expect(JSON.parse(stdout)).toMatchObject({
        refused: {
          vsock: 'EAFNOSUPPORT',
          'vsock with high bits': 'EAFNOSUPPORT',
          io_uring_setup: 'ENOSYS',
          userfaultfd: 'ENOSYS',
          bpf: 'EPERM',
          mount: 'EPERM',
        },
      });
    });

    it('PROC-3: a timeout is final there too', async () => {
      const sandbox = await harness.open();
      const result = await begunBeforeTimeout(500, (timeoutMs) =>
        sandbox.exec({ argv: ['/bin/sh', '-c', 'echo begun; sleep 1000'], timeoutMs }),
      );
      expect(result).toMatchObject({ timedOut: true, stdout: 'begun\n' });
      const { processes, disowned } = await sandbox.processes();
      expect([...processes.filter(({ state }) => state === 'running'), ...disowned]).toEqual([]);
    });
  },
);

egressContract({
  name: 'docker with gVisor',
  unavailable: docker.available ? undefined : docker.reason,
  openDeadlineMs: buildDeadlineMs,
  open: async () => {
    await ensureGvisor();
    return openHarness((options) => dockerRuntime(options, options.docker), {
      ociRuntime: 'runsc',
      ...(docker.available ? { dockerSocket: docker.socket } : {}),
    });
  },
});
