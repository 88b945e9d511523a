import { randomBytes } from 'node:crypto';
import { createServer, request, type Server } from 'node:http';
import { createServer as createSilentServer, type Server as SocketServer } from 'node:net';
import { Readable } from 'node:stream';
import { pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { checkImageName, RunImages } from '../../src/runs/run-images.ts';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import type { Images } from '../../src/seams/images.ts';
import { eventually } from '../contracts/harness.ts';
import { EngineApi } from '../engine/engine-api.ts';
import { imageTag, type Registry, startRegistry } from '../engine/index.ts';
import { openRuns, type RunsHarness } from './harness.ts';

const engines = inject('engines');
const image = imageTag('busybox');

describe('RUN-7: the name of an image', () => {
  it.for(['python:3.12-slim', 'localhost:5000/a/b:1', `x@sha256:${'a'.repeat(64)}`])(
    '%s is one image',
    (name) => {
      expect(checkImageName(name)).toBe(name);
    },
  );
  it.for(['python', 'localhost:5000/python', 'a/b', ''])('%j could be many, and is refused', (name) => {
    expect(() => checkImageName(name)).toThrow(expect.objectContaining({ code: 'invalid_input' }));
  });
});

for (const engineName of ['docker', 'podman'] as const) {
  const engine = engines[engineName];
  const reason = engine.available
    ? engines.registry.available
      ? undefined
      : engines.registry.reason
    : engine.reason;
  describe.skipIf(reason !== undefined)(
    `RUN-7: pulling with ${engineName}${reason === undefined ? '' : ` (skipped: ${reason})`}`,
    () => {
      const available = engine.available ? engine : { socket: '' };
      const api = new EngineApi(available.socket);
      let registry: Registry;
      let harness: RunsHarness;
      let images: Images;
      let name = '';
      const absent = () => api.delete(`/images/${name}?force=1`).catch(() => {});

      beforeAll(async () => {
        registry = await startRegistry();
        name = await registry.push(available, image);
        harness = await openRuns((options) => dockerRuntime(options, options.docker), {
          dockerSocket: available.socket,
        });
        if (harness.runtime.images === undefined) throw new Error('the runtime has no images');
        images = harness.runtime.images;
      });
      afterAll(async () => {
        await harness?.close();
        await absent();
        await registry?.stop();
      });

      it('pulls a missing image for the run that needs it, stores its digest, and reports the wait separately', async () => {
        await absent();
        const seen: string[] = [];
        for await (const event of harness.runs.stream('echo here', 'shell', { image: name })) {
          if (!seen.includes(event.type)) seen.push(event.type);
          if (event.type === 'sandbox-ready') {
            expect(event.image).toMatchObject({
              name,
              digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
            });
          }
          if (event.type === 'end') expect(event.pullMs).toBeGreaterThan(0);
        }
        expect(seen.slice(0, 2)).toEqual(['pull-progress', 'sandbox-ready']);
        expect(seen).toEqual(expect.arrayContaining(['stdout', 'end']));
      });

      it('pulls once for any number of waiters; a waiter that cancels does not stop the pull for the others', async () => {
        await absent();
        let [looked, pulls] = [0, 0];
        const left = Promise.withResolvers<void>();
        const counting: Images = {
          async find(wanted, options) {
            const facts = await images.find(wanted, options);
            looked += 1;
            return facts;
          },
          async *pull(wanted, options) {
            pulls += 1;
            await left.promise;
            yield* images.pull(wanted, options);
          },
        };
        const shared = new RunImages({ pullDeadlineMs: 60_000 });
        const stop = new AbortController();
        const waiters = Array.from({ length: 20 }, () => drain(shared.resolve(counting, name)));
        const leaver = drain(shared.resolve(counting, name, { signal: stop.signal }));
        // All of them wait for the same pull then: one that was alone with it would end it.
        await eventually(async () => looked === 21, 'a look for each');
        stop.abort();
        await expect(leaver).rejects.toMatchObject({ code: 'cancelled' });
        left.resolve();
        const found = await Promise.all(waiters);
        expect(new Set(found.map(({ id }) => id)).size).toBe(1);
        expect(pulls).toBe(1);
      });

      it('a tag that is not there is refused with the reason of the engine', async () => {
        const wrong = name.replace(/:1$/, ':none');
        await expect(harness.runs.run('', 'shell', { image: wrong })).rejects.toMatchObject({
          code: 'image_missing',
          message: expect.stringContaining(wrong),
        });
      });

      it('the pull from a hanging registry fails at the deadline', async () => {
        const silent = createSilentServer(() => {});
        const port = await listening(silent);
        const impatient = new RunImages({ pullDeadlineMs: 1_500 });
        await expect(drain(impatient.resolve(images, `127.0.0.1:${port}/x:1`))).rejects.toMatchObject({
          code: 'timed_out',
          message: expect.stringContaining(`127.0.0.1:${port}/x:1`),
        });
        silent.close();
      });

      it('a registry that stops half-way fails the pull, and a later pull works', async () => {
        // Of its own content: a layer that the engine has is not fetched.
        const own = `geode-test-pull-${engineName}:1`;
        const tar = pack();
        tar.entry({ name: 'noise' }, randomBytes(3_000_000));
        tar.finalize();
        await api.importImage(own, Readable.from(tar), []);
        name = await registry.push(available, own);
        await api.delete(`/images/${own}?force=1`);
        const dying = dyingProxy(registry.host);
        const port = await listening(dying);
        const broken = name.replace(registry.host, `127.0.0.1:${port}`);
        const impatient = new RunImages({ pullDeadlineMs: 8_000 });
        const failure = await drain(impatient.resolve(images, broken)).catch((error) => error);
        expect(['pull_failed', 'timed_out']).toContain(failure.code);
        expect(await images.find(broken)).toBeUndefined();
        dying.closeAllConnections();
        dying.close();
        const patient = new RunImages({ pullDeadlineMs: 120_000 });
        expect(await drain(patient.resolve(images, name))).toMatchObject({ id: expect.any(String) });
      });
    },
  );
}

async function drain<T>(resolving: AsyncGenerator<unknown, T>): Promise<T> {
  for (;;) {
    const { done, value } = await resolving.next();
    if (done) return value;
  }
}

async function listening(server: SocketServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Passes everything on to a registry, but breaks off in the middle of every layer. */
function dyingProxy(host: string): Server {
  return createServer((incoming, outgoing) => {
    const isBlob = incoming.url?.includes('/blobs/') ?? false;
    request(
      `http://${host}${incoming.url}`,
      { method: incoming.method, headers: incoming.headers },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        if (!isBlob) answer.pipe(outgoing);
        else
          answer.once('data', (chunk: Buffer) => {
            outgoing.write(chunk.subarray(0, 100));
            setTimeout(() => outgoing.destroy(), 50);
          });
      },
    ).end();
  });
}
