import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { isRunning } from '../../src/machine/process-mark.ts';
import { EngineApi } from '../engine/engine-api.ts';
import { imageTag, startRegistry } from '../engine/index.ts';
import { running, started, wordsOf } from './beside.ts';
import { patience, patiently, sandboxHome } from './sandbox-home.ts';

const { docker, registry } = inject('engines');

describe('CLI-1: the life of a host (native)', patience, () => {
  it('ends after an idle time without commands; running processes continue', async () => {
    await using home = await sandboxHome({ GEODE_RUNTIME_NAME: 'native', GEODE_SANDBOX_LINGER: '1' });
    await home.ok(['sandbox', 'create', 'short']);
    await home.ok(['sandbox', 'exec', '-b', 'short', '--', 'sleep', '1111']);
    // While a command runs, the host cannot be gone before the test has read who it is.
    const command = await started(home, 'sandbox', 'exec', 'short', '--', 'sh', '-c', 'echo up; read line');
    const host = await home.host();
    command.child.stdin.end('go on\n');
    await command.over;
    await patiently(async () => !isRunning(host), 'the end of the host');
    expect(await running(home, 'short')).toEqual(['1111']);
  });

  it('reports folders that cannot be used', async () => {
    await using home = await sandboxHome({ GEODE_RUNTIME_NAME: 'native' });
    const file = join(home.folder, 'file');
    await writeFile(file, '');
    for (const [setting, code] of [
      ['GEODE_SANDBOX_STATE_DIR', 'ledger_failed'],
      ['GEODE_SANDBOX_RUN_DIR', 'invalid_config'],
    ] as const) {
      const refused = await home.run(['sandbox', 'create', 'nowhere', '--json'], '', { [setting]: file });
      expect(JSON.parse(refused.stdout)).toMatchObject({ code, error: expect.stringContaining(file) });
    }
  });

  it('without lingering each command is its own host: a second command waits, and is then refused', async () => {
    await using home = await sandboxHome({ GEODE_RUNTIME_NAME: 'native', GEODE_SANDBOX_LINGER: '0' });
    await home.ok(['sandbox', 'create', 'alone']);
    const holder = await started(
      home,
      'sandbox',
      'exec',
      '--timeout',
      '0',
      'alone',
      '--',
      'sh',
      '-c',
      'echo up; read line; echo $line',
    );
    const args = ['sandbox', 'ps', '--wait', '0', 'alone'] as const;
    const refused = await home.run([...args, '--json']);
    expect(JSON.parse(refused.stdout)).toMatchObject({
      code: 'ledger_held',
      details: { pid: holder.child.pid },
    });
    const started2 = await home.run(args, '', { GEODE_SANDBOX_LINGER: '5' });
    expect(started2).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`process ${holder.child.pid}`),
    });
    expect(await home.ok(['sandbox', 'logs', 'alone'])).toContain('running');
    const waiting = home.run(['sandbox', 'ps', '--wait', '60', 'alone']);
    holder.child.stdin.end('done\n');
    await holder.over;
    expect(holder.said.stdout).toBe('up\ndone\n');
    expect(await waiting).toMatchObject({ code: 0 });
  });

  it('SBX-5, API-3: the gateway also serves as the host: commands use it, and it stops idle sandboxes', async () => {
    await using home = await sandboxHome({
      GEODE_RUNTIME_NAME: 'native',
      GEODE_SANDBOX_IDLE_TIMEOUT: '1',
      GEODE_SANDBOX_SWEEP_EVERY: '0.2',
      GEODE_SANDBOX_READY: '0',
      GEODE_GATEWAY_LOG_LEVEL: 'warn',
    });
    const gateway = await started(home, 'gateway', '--port', '0', '--no-auth');
    await patiently(async () => (await home.host()).serves?.as === 'geode gateway', 'the gateway as host');
    await home.ok(['sandbox', 'create', 'idle']);
    await using me = home.sit(['shell', 'busy']);
    me.type('echo th$((1))ere\r');
    await me.sees('th1ere');
    const states = async () =>
      (await home.ok(['sandbox', 'ls']))
        .match(/\/(busy|idle) +\w+/g)
        ?.sort()
        .join();
    await patiently(async () => /\/busy +running,\/idle +stopped/.test((await states()) ?? ''), 'the sweep');
    expect((await home.run(['host', 'stop'])).stderr).toContain('geode gateway');
    expect((await home.host()).pid).toBe(gateway.child.pid);
    gateway.child.kill('SIGTERM');
    await gateway.over;
    expect([gateway.child.exitCode, gateway.said.stderr]).toEqual([0, '']);
    expect(await me.over).toBe(143);
    expect(await running(home, 'busy')).toHaveLength(1);
  });

  it('a gateway replaces a background host after its running commands end', async () => {
    await using home = await sandboxHome({ GEODE_RUNTIME_NAME: 'native', GEODE_SANDBOX_READY: '0' });
    await home.ok(['sandbox', 'create', 'first']);
    const first = await home.host();
    const busy = await started(home, 'sandbox', 'exec', 'first', '--', 'sh', '-c', 'echo up; read line');
    const waiting = home.start('gateway', '--port', '0', '--no-auth');
    const said = wordsOf(waiting);
    await patiently(async () => said().includes(`pid ${first.pid}`), 'its word');
    expect((await home.host()).pid).toBe(first.pid);
    busy.child.stdin.end('go on\n');
    await busy.over;
    await patiently(async () => (await home.host()).pid === waiting.pid, 'the gateway as host');
    await patiently(async () => !isRunning(first), 'the end of the first');
    await home.ok(['sandbox', 'exec', 'first', '--', 'true']);
    const second = await home.run(['gateway', '--port', '0', '--no-auth', '--wait', '0']);
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining(`process ${waiting.pid}`) });
    const alone = await started(home, 'gateway', '--port', '0', '--no-auth', '--no-sandboxes');
    await home.ok(['sandbox', 'exec', 'first', '--', 'true']);
    expect((await home.host()).pid).toBe(waiting.pid);
    for (const child of [alone.child, waiting]) child.kill('SIGTERM');
    await alone.over;
    await patiently(async () => waiting.exitCode !== null, 'the end of the gateway');
    expect(waiting.exitCode).toBe(0);
  });
});

describe.skipIf(!docker.available)('CLI-1: several commands at once on docker', patience, () => {
  const socket = docker.available ? docker.socket : '';
  const settings = {
    GEODE_RUNTIME_NAME: 'docker',
    GEODE_DOCKER_HOST: `unix://${socket}`,
    GEODE_DOCKER_IMAGE: 'geode-test/python:1',
  };

  it.skipIf(!registry.available)(
    'RUN-7, CLI-1: shows the pull of an image only to the waiting command, with a bar at a terminal',
    async () => {
      await using store = await startRegistry();
      const image = await store.push({ socket }, imageTag('busybox'));
      await using home = await sandboxHome(settings);
      const remove = () => new EngineApi(socket).delete(`/images/${image}?force=1`).catch(() => {});
      await home.ok(['sandbox', 'create', 'there']);
      await remove();
      try {
        const [pulling, other] = await Promise.all([
          home.run(['sandbox', 'create', '--image', image, 'pulled']),
          home.run(['sandbox', 'exec', 'there', '--', 'sleep', '2']),
        ]);
        expect(pulling).toMatchObject({ code: 0, stderr: `pulling ${image}\n` });
        expect(other).toEqual({ code: 0, stdout: '', stderr: '' });
        await home.ok(['sandbox', 'rm', 'pulled']);

        // At a terminal there is a bar, which the next line takes the place of. A host knows the images that it saw.
        await home.ok(['host', 'stop']);
        await remove();
        await using person = home.sit(['sandbox', 'create', '--image', image, 'watched'], { columns: 200 });
        const code = await person.over;
        expect(code, person.written()).toBe(0);
        expect(person.written()).toContain(`\rpulling ${image} `);
        expect(person.screen()).not.toContain('pulling');
        await home.ok(['sandbox', 'rm', 'watched']);
      } finally {
        await remove();
      }
    },
  );

  it('a shell and other commands share a sandbox; both survive the kill of the host', async () => {
    await using home = await sandboxHome(settings);
    await using me = home.sit(['shell', 'demo']);
    me.type('echo here > file; echo rea$((1))dy\r');
    await me.sees('rea1dy');
    expect(await home.ok(['sandbox', 'exec', 'demo', '--', 'cat', 'file'])).toBe('here\n');
    process.kill((await home.host()).pid, 'SIGKILL');
    expect(await me.over).toBe(125);
    expect(await home.ok(['sandbox', 'exec', 'demo', '--', 'cat', 'file'])).toBe('here\n');
    await using again = home.sit(['shell', 'demo']);
    await again.sees('rea1dy');
  });
});
