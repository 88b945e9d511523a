import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { EngineApi } from './engine-api.ts';
import { type ContainerEngine, imageTag, leftovers, startEngines, startRegistry } from './index.ts';

const engines = await startEngines();
afterAll(() => engines.stop());

for (const name of ['docker', 'podman'] as const) {
  const engine = engines.facts[name];
  if (engine.available) describe(name, { timeout: 60_000 }, () => suite(name, engine));
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
  test.for(commands)(
    '%s runs sealed: no network, no rights, nothing to write to',
    async ([image, command]) => {
      const { output, exitCode } = await runContainer(api, { Image: imageTag(image), Cmd: command });
      expect({ output, exitCode }).toEqual({ output: '42', exitCode: 0 });
    },
  );

  test.for(engine.ociRuntimes)('the OCI runtime %s can be asked for', async (runtime) => {
    const { output } = await runContainer(
      api,
      { Image: imageTag('busybox'), Cmd: ['echo', 'here'] },
      { Runtime: runtime },
    );
    expect(output).toBe('here');
  });

  test('the memory limit kills', async () => {
    const hungry = { Image: imageTag('python'), Cmd: ['python3', '-c', 'bytearray(200 * 1024 * 1024)'] };
    const limit = 64 * 1024 * 1024;
    const { exitCode, oomKilled } = await runContainer(api, hungry, { Memory: limit, MemorySwap: limit });
    expect({ exitCode, oomKilled }).toEqual({ exitCode: 137, oomKilled: engine.reportsOomKills });
  });

  test('a bridge network can be asked for', async () => {
    const show = { Image: imageTag('busybox'), Cmd: ['ip', '-o', 'address'] };
    const { output } = await runContainer(api, show, { NetworkMode: 'bridge' });
    expect(output).toMatch(/eth0 +inet /);
  });

  test('an image goes to a registry and comes back', async () => {
    await using registry = await startRegistry();
    const image = await registry.push(engine, imageTag('distroless'));
    expect(await api.imageLabels(image)).toBeNull();
    await api.pullImage(image);
    expect(await api.imageLabels(image)).toEqual(await api.imageLabels(imageTag('distroless')));
    await api.delete(`/images/${image}`);
  });

  test('what is left behind is found', async () => {
    const state = mkdtempSync(join(tmpdir(), 'geode-test-state-'));
    const owner = `engine-test-${process.pid}`;
    const volume = `${owner}-${name}`;
    const container = { Image: imageTag('busybox'), Labels: { 'dev.geode.owner': owner } };
    const { Id } = createdSchema.parse(await api.post('/containers/create', container));
    try {
      await api.post('/volumes/create', { Name: volume });
      writeFileSync(join(state, 'forgotten'), '');
      const found = await leftovers(engines.facts, [state]);
      expect(found.filter((line) => line.includes(owner) || line.includes(state))).toEqual([
        expect.stringMatching(new RegExp(`^${name} container ${Id.slice(0, 12)} .* of ${owner}$`)),
        `${name} volume ${volume}`,
        `entry ${join(state, 'forgotten')}`,
      ]);
    } finally {
      await api.delete(`/containers/${Id}?force=1`);
      await api.delete(`/volumes/${volume}`);
      rmSync(state, { recursive: true });
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
