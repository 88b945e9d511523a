import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { geodeProgram, sandboxHome } from '../cli/sandbox-home.ts';
import { hostWorld } from './world.ts';

describe('the status of a host', () => {
  it('OPS-4: is healthy, and counts sandboxes and approvals without names', async () => {
    await using world = hostWorld();
    const { host, socket } = await world.open();
    const client = createClient(unixTransport(socket.path));
    await client.sandboxes.getOrCreate('a-private-name');
    host.approvals.ask({ user: 'local', chat: 'a-private-name', kind: 'tool', title: 'go?' }).catch(() => {});
    const status = await client.hostStatus();
    expect(status).toMatchObject({
      pid: process.pid,
      version: 'test',
      work: { sandboxes: { running: 1 }, approvals: 1, turns: 0, messages: 0 },
    });
    const states = Object.fromEntries(status.checks.map(({ name, state }) => [name, state]));
    expect(states).toMatchObject({
      ledger: 'ok',
      runtime: 'ok',
      sandboxes: 'ok',
      channels: 'ok',
      backups: 'ok',
    });
    expect(JSON.stringify(status)).not.toContain('a-private-name');
  });

  it('OPS-4: is impaired without a runtime, and names the reason', async () => {
    const nowhere = { GEODE_RUNTIME_NAME: 'docker', GEODE_DOCKER_HOST: 'unix:///nowhere/docker.sock' };
    await using world = hostWorld(nowhere);
    const { socket } = await world.open();
    const { state, checks } = await createClient(unixTransport(socket.path)).hostStatus();
    expect(state).toBe('impaired');
    expect(checks).toContainEqual(
      expect.objectContaining({
        name: 'runtime',
        state: 'problem',
        found: expect.stringContaining('docker'),
      }),
    );
  });

  it('rotates a log file that is too large, and leaves a smaller one alone', {
    timeout: 300_000,
  }, async () => {
    await using home = await sandboxHome({ GEODE_RUNTIME_NAME: 'native', GEODE_GATEWAY_LOG_SIZE: '1000' });
    for (const [bytes, moved] of [
      [999, false],
      [1001, true],
    ] as const) {
      const log = join(home.folder, `${bytes}.log`);
      writeFileSync(log, 'x'.repeat(bytes));
      const file = openSync(log, 'a');
      const host = spawn(process.execPath, [geodeProgram, 'host', '--json'], {
        env: home.env,
        stdio: ['ignore', 'pipe', file],
      });
      closeSync(file);
      const ended = once(host, 'exit');
      await once(host.stdout ?? host, 'data');
      host.kill('SIGTERM');
      await ended;
      expect(existsSync(`${log}.1`)).toBe(moved);
      const kept = moved ? `${log}.1` : log;
      expect(readFileSync(kept, 'utf8').startsWith('x'.repeat(bytes))).toBe(true);
      if (moved) expect(readFileSync(log, 'utf8')).not.toContain('x'.repeat(bytes));
    }
  });

  it('is the exit code of geode host status', { timeout: 300_000 }, async () => {
    await using home = await sandboxHome({ GEODE_RUNTIME_NAME: 'native', GEODE_SANDBOX_READY: '0' });
    expect(await home.run(['host', 'status'])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('No host is running.'),
    });
    await home.ok(['approvals', 'ls']);
    const { code, stdout } = await home.run(['host', 'status', '--json']);
    const { state, checks } = JSON.parse(stdout);
    const hasProblem = checks.some((check: { state: string }) => check.state === 'problem');
    expect({ code, state }).toEqual(
      hasProblem ? { code: 1, state: 'impaired' } : { code: 0, state: 'healthy' },
    );
  });
});
