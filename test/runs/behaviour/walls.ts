import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Bench } from '../language-suite.ts';

/** RUN-2: what is none of its business. */
export function wallsBehaviour({ harness, show }: Bench): void {
  const isolated = () => harness().capabilities.isolation;

  describe('walls', () => {
    it('cannot read the passwords', async ({ skip }) => {
      skip(!isolated(), 'this runtime has no walls');
      const { stdout, success } = await show('read', ['/etc/shadow']);
      expect({ stdout, success }).toEqual({ stdout: '', success: false });
    });

    it("cannot read the host's files", async ({ skip }) => {
      skip(!isolated(), 'this runtime has no walls');
      const secret = join(harness().options.stateDir, '..', 'secret.txt');
      await writeFile(secret, 'of the host');
      const { stdout, success } = await show('read', [secret]);
      await rm(secret);
      expect({ stdout, success }).toEqual({ stdout: '', success: false });
    });

    it('RUN-2: reaches no network, not even the host', async ({ skip }) => {
      skip(!isolated(), 'this runtime has no walls');
      let knocks = 0;
      const server = createServer((socket) => {
        knocks += 1;
        socket.destroy();
      });
      await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
      const address = server.address();
      const port = String(typeof address === 'object' ? address?.port : 0);
      const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
      const outer =
        own.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';
      for (const host of ['127.0.0.1', outer]) {
        expect((await show('connect', [host, port], { timeoutMs: 60_000 })).stdout, host).toBe(
          'unreachable\n',
        );
      }
      server.close();
      expect(knocks).toBe(0);
    });

    it('cannot kill the first process of its sandbox', async ({ skip }) => {
      skip(!isolated(), 'this runtime has no walls');
      expect(await show('kill-init')).toMatchObject({ outcome: 'succeeded', stdout: 'alive\n' });
    });

    it('cannot write to the system, but to its own folder', async ({ skip }) => {
      skip(!isolated(), 'this runtime has no walls');
      expect((await show('write', ['/etc/x'])).stdout).toBe('refused\n');
      expect((await show('write', ['x'])).stdout).toBe('written\n');
    });

    it('runs as a user other than root', async ({ skip }) => {
      skip(!isolated(), 'this runtime has no walls');
      expect(Number((await show('uid')).stdout)).toBeGreaterThan(0);
    });

    it('RUN-2: refuses invalid limits', async () => {
      for (const limits of [{ memoryBytes: 0 }, { cpus: Number.NaN }, { pids: -1 }]) {
        await expect(show('hello', [], { limits })).rejects.toMatchObject({ code: 'invalid_input' });
      }
      for (const timeoutMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
        await expect(show('hello', [], { timeoutMs })).rejects.toMatchObject({ code: 'invalid_input' });
      }
    });
  });
}
