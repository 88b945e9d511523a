import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { homeOf } from '../../src/runtimes/home.ts';
import { EngineApi } from './engine-api.ts';
import {
  type ContainerEngine,
  imageTag,
  leftovers,
  RunFolder,
  startEngines,
  startRegistry,
} from './index.ts';

const engines = await startEngines();
afterAll(() => engines.stop());

for (const name of ['docker', 'podman'] as const) {
  const engine = engines.facts[name];
  if (engine.available) describe(name, { timeout: 180_000 }, () => suite(name, engine));
  else test.skip(`${name}: ${engine.reason}`, () => {});
}

function suite(name: 'docker' | 'podman', engine: ContainerEngine): void {
  const api = new EngineApi(engine.socket);

  const commands = [
    ['base', ['bash', '-c', 'echo $((40 + 2))']],
    ['python', ['python3', '-c', 'print(40 + 2)']],
    ['node', ['node', '-e', 'console.log(String(40 + 2))']],
    ['busybox', ['sh', '-c', 'test ! -e /lib && echo $((40 + 2))']],
    ['distroless', ['/busybox/sh', '-c', 'test ! -e /bin && test ! -e /lib && echo $((40 + 2))']],
  ] as const;
  test.for(commands)('%s runs without network, capabilities and writable files', async ([image, command]) => {
    const { output, exitCode } = await runContainer(api, { Image: imageTag(image), Cmd: command });
    expect({ output, exitCode }).toEqual({ output: '42', exitCode: 0 });
  });

  test.for(engine.ociRuntimes)('the OCI runtime %s can be asked for', async (runtime) => {
    const { output } = await runContainer(
      api,
      { Image: imageTag('busybox'), Cmd: ['echo', 'here'] },
      { Runtime: runtime },
    );
    expect(output).toBe('here');
  });

  test('the memory limit kills a container', async () => {
    const hungry = { Image: imageTag('python'), Cmd: ['python3', '-c', 'bytearray(200 * 1024 * 1024)'] };
    const limit = 64 * 1024 * 1024;
    const { exitCode, oomKilled } = await runContainer(api, hungry, { Memory: limit, MemorySwap: limit });
    expect({ exitCode, oomKilled }).toEqual({ exitCode: 137, oomKilled: engine.reportsOomKills });
  });

  test('a container can have a bridge network on request', async () => {
    const show = { Image: imageTag('busybox'), Cmd: ['ip', '-o', 'address'] };
    const { output } = await runContainer(api, show, { NetworkMode: 'bridge' });
    expect(output).toMatch(/eth0 +inet /);
  });

  test('an image is pushed to a registry and pulled again', async () => {
    await using registry = await startRegistry();
    const image = await registry.push(engine, imageTag('distroless'));
    expect(await api.imageLabels(image)).toBeNull();
    await api.pullImage(image);
    expect(await api.imageLabels(image)).toEqual(await api.imageLabels(imageTag('distroless')));
    await api.delete(`/images/${image}`);
  });

  test('finds leftovers of this run with their test file, and no others', async () => {
    const [run, other] = [new RunFolder(['test/some.test.ts']), new RunFolder(['test/some.test.ts'])];
    const forgotten = join(run.folders['test/some.test.ts'] ?? '', 'forgotten');
    const madeBy = async (folder: string) => {
      const Labels = { 'dev.geode.home': homeOf({ stateDir: join(folder, 'state') }) };
      const { Id } = createdSchema.parse(
        await api.post('/containers/create', { Image: imageTag('busybox'), Labels }),
      );
      const volume = `${basename(folder)}-${Id.slice(0, 12)}`;
      await api.post('/volumes/create', { Name: volume, Labels });
      return { id: Id, volume };
    };
    const sleepers: ChildProcess[] = [];
    const sleep = (options: SpawnOptions, word = 'x') => {
      const sleeper = spawn('/bin/sh', ['-c', 'sleep 1000; true', word], { ...options, detached: true });
      sleepers.push(sleeper);
      return sleeper.pid;
    };
    run.note(forgotten);
    const [ours, theirs] = [await madeBy(forgotten), await madeBy(join(other.path, '0', 'forgotten'))];
    try {
      mkdirSync(forgotten);
      const by = ' (left by test/some.test.ts)';
      const pids = [
        sleep({ cwd: forgotten }),
        sleep({ env: { HOME: forgotten } }),
        sleep({ env: {} }, forgotten),
      ];
      sleep({ cwd: other.path });
      const found = await leftovers(engines.facts, run);
      const ofThis = found.filter((line) => !line.startsWith('process'));
      expect(ofThis).toEqual([
        expect.stringMatching(
          `^${name} container ${ours.id.slice(0, 12)} .*${by.replaceAll(/[()]/g, '\\$&')}$`,
        ),
        `${name} volume ${ours.volume}${by}`,
        `entry ${forgotten}${by}`,
      ]);
      for (const pid of pids) {
        expect(found.filter((line) => line.startsWith(`process ${pid}: `) && line.endsWith(by))).toHaveLength(
          1,
        );
      }
    } finally {
      for (const { pid } of sleepers) if (pid !== undefined) process.kill(-pid, 'SIGKILL');
      for (const { id, volume } of [ours, theirs]) {
        await api.delete(`/containers/${id}?force=1`);
        await api.delete(`/volumes/${volume}`);
      }
      run.remove();
      other.remove();
    }
  });
}

const sealed = {
  NetworkMode: 'none',
  ReadonlyRootfs: true,
  CapDrop: ['ALL'],
  SecurityOpt: ['no-new-privileges'],
  Memory: 256 * 1024 * 1024,
  PidsLimit: 64,
  NanoCpus: 1_000_000_000,
};

const createdSchema = z.object({ Id: z.string() });
const stateSchema = z.object({ State: z.object({ ExitCode: z.int(), OOMKilled: z.boolean() }) });

/** With a terminal, so that the log is the plain output. */
async function runContainer(api: EngineApi, container: object, hostConfig: object = {}) {
  const body = { User: '1000', Tty: true, ...container, HostConfig: { ...sealed, ...hostConfig } };
  const { Id } = createdSchema.parse(await api.post('/containers/create', body));
  try {
    await api.post(`/containers/${Id}/start`, {});
    await api.post(`/containers/${Id}/wait`, {});
    const { State } = stateSchema.parse(await api.get(`/containers/${Id}/json`));
    const output = (await api.getText(`/containers/${Id}/logs?stdout=1&stderr=1`)).trim();
    return { output, exitCode: State.ExitCode, oomKilled: State.OOMKilled };
  } finally {
    await api.delete(`/containers/${Id}?force=1`);
  }
}
