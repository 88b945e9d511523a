import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { isGeodeError } from '../../src/base/errors.ts';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { httpTransport } from '../../src/client/transport.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { PullAllowance, pullCaller, registryOf } from '../../src/runs/pull-rules.ts';
import { RunImages } from '../../src/runs/run-images.ts';
import { EngineApi } from '../engine/engine-api.ts';
import { imageTag } from '../engine/images.ts';
import { type Registry, startRegistry } from '../engine/registry.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';

const { docker, registry: engineRegistry } = inject('engines');
const missing = docker.available ? (engineRegistry.available ? '' : engineRegistry.reason) : docker.reason;
const skipped = missing === '' ? '' : ` (skipped: ${missing})`;

describe('the registry of an image', () => {
  it.for([
    ['python:3.12', 'docker.io'],
    ['library/python:3.12', 'docker.io'],
    ['index.docker.io/library/python:3.12', 'docker.io'],
    ['ghcr.io/a/b:1', 'ghcr.io'],
    ['localhost/geode/agent:1', 'localhost'],
    ['LOCALHOST/x:1', 'localhost'],
    ['127.0.0.1:5000/x:1', '127.0.0.1:5000'],
    ['intranet:80/x:1', 'intranet:80'],
    ['10.1/x:1', '10.1'],
    ['Metadata/x:1', 'metadata'],
  ] as const)('SEC-2: of %s is %s', ([name, registry]) => {
    expect(registryOf(name)).toBe(registry);
  });
});

describe.skipIf(missing !== '')(
  `images for callers without the scope admin${skipped}`,
  { timeout: 300_000 },
  () => {
    const rights = ['sandboxes:read', 'sandboxes:write', 'runs'] as const;
    const all = new AsyncDisposableStack();
    let world: HostWorld;
    let opened: OpenedHost;
    let registry: Registry;
    let engine: EngineApi;
    let name: string;
    let alice: GeodeClient;
    let operator: GeodeClient;
    beforeAll(async () => {
      if (!docker.available) throw new Error(docker.reason);
      registry = all.use(await startRegistry());
      engine = new EngineApi(docker.socket);
      name = await registry.push(docker, imageTag('busybox'));
      world = all.use(
        hostWorld({
          GEODE_RUNTIME_NAME: 'docker',
          GEODE_DOCKER_HOST: `unix://${docker.socket}`,
          GEODE_DOCKER_IMAGE: imageTag('busybox'),
          GEODE_RUNS_POOL_CEILING: '0',
        }),
      );
      opened = await world.open();
      const key = opened.host.keys.create({ user: 'alice', scopes: rights }).secret;
      alice = createClient(httpTransport({ url: opened.gateway.url, key }));
      operator = createClient(unixTransport(opened.socket.path));
    }, 300_000);
    afterAll(async () => {
      await engine?.delete(`/images/${name}?force=1`).catch(() => {});
      await all[Symbol.asyncDispose]();
    }, 300_000);
    const absent = () => engine.delete(`/images/${name}?force=1`).catch(() => {});
    const refusal = (asked: Promise<unknown>) =>
      asked.then(
        () => undefined,
        (error: unknown) => error,
      );

    it('SEC-2: callers without admin cannot make the engine call an address of this machine, through any protocol', async () => {
      let calls = 0;
      await using server = createServer((socket) => {
        calls += 1;
        socket.destroy();
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const image = `127.0.0.1:${(server.address() as AddressInfo).port}/inside/x:1`;
      const drained = async (events: AsyncIterable<unknown>) => {
        for await (const _ of events);
      };
      const doors: Readonly<Record<string, () => Promise<unknown>>> = {
        sandbox: () => alice.sandboxes.getOrCreate('inside', { image }),
        run: () => alice.runs.run('echo', 'shell', { image }),
        'live run': () => drained(alice.runs.live('echo', 'shell', { image })),
        command: () => alice.runs.exec({ argv: ['true'] }, { image }),
        context: () => alice.contexts.open('python', { image }),
        pull: () => alice.images.pull(image),
      };
      for (const [door, asked] of Object.entries(doors))
        expect(await refusal(asked()), door).toMatchObject({
          code: 'image_not_allowed',
          message: expect.stringContaining('127.0.0.1'),
        });
      expect(calls).toBe(0);
      // The images that Geode builds have this name in the config, and nobody pulls them.
      expect(await refusal(alice.images.pull('localhost/inside/x:1'))).toMatchObject({
        code: 'image_not_allowed',
      });
      expect(await refusal(operator.runs.run('echo', 'shell', { image }))).toMatchObject({
        code: expect.stringMatching(/^(pull_failed|image_missing)$/),
      });
      expect(calls).toBeGreaterThan(0);
    });

    it('SEC-2: callers may use any image that is already present', async () => {
      await absent();
      expect(await refusal(alice.runs.run('echo here', 'shell', { image: name }))).toMatchObject({
        code: 'image_not_allowed',
      });
      expect((await operator.runs.run('echo here', 'shell', { image: name })).stdout).toBe('here\n');
      expect((await alice.runs.run('echo here', 'shell', { image: name })).stdout).toBe('here\n');
    });

    it('RUN-7: removes a pulled image above the size limit of the caller, and renews the limit each day', async () => {
      const images = (await opened.host.app.runtime()).images;
      if (images === undefined) throw new Error('docker has no images');
      let day = 20_000;
      const rules = { registries: [registry.host], now: () => day * 86_400_000 };
      const fetched = (mostBytes: number, mostBytesPerDay: number) =>
        new RunImages({
          pullDeadlineMs: 60_000,
          allowance: new PullAllowance({ ...rules, mostBytes, mostBytesPerDay }),
        });
      const pulled = async (from: RunImages) => {
        const pulling = from.resolve(images, name);
        let step = await pulling.next();
        while (!step.done) step = await pulling.next();
        return step.value;
      };
      const as = <T>(user: string | undefined, work: () => Promise<T>) =>
        pullCaller.run(user === undefined ? undefined : { user }, work);
      await absent();
      const small = fetched(1_000, 1_000_000_000);
      expect(isGeodeError(await refusal(as('alice', () => pulled(small))), 'too_large')).toBe(true);
      expect(await images.find(name)).toBeUndefined();
      const { sizeBytes } = await as(undefined, () => pulled(small));
      const daily = fetched(sizeBytes, sizeBytes);
      for (const [user, code] of [
        ['alice', undefined],
        ['alice', 'too_large'],
        ['bob', undefined],
      ] as const) {
        await absent();
        daily.forget(images, name);
        const error = await refusal(as(user, () => pulled(daily)));
        expect(isGeodeError(error) ? error.code : error, user).toBe(code);
      }
      day += 1;
      await absent();
      daily.forget(images, name);
      expect(await as('alice', () => pulled(daily))).toMatchObject({ sizeBytes });
    });

    it('SEC-1: root in a sandbox needs the scope admin', async () => {
      expect(await refusal(alice.sandboxes.getOrCreate('rooted', { rootAccess: true }))).toMatchObject({
        code: 'forbidden',
      });
      await operator.sandboxes.getOrCreate('rooted', { rootAccess: true });
    });
  },
);
