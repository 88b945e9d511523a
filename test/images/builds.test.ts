/** Builds of a recipe by an engine: the same tests on Docker and on Podman, with recipes of one step. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { noLog } from '../../src/base/log.ts';
import { imageChapter } from '../../src/images/image-table.ts';
import { openBuiltImages } from '../../src/images/open-images.ts';
import { EventLog, eventChapter } from '../../src/ledger/event-log.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { RunImages } from '../../src/runs/run-images.ts';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import {
  type BuildEvent,
  type BuiltImage,
  type BuiltImages,
  builtImageNames,
} from '../../src/seams/images.ts';
import { eventually, testOptions } from '../contracts/harness.ts';
import { EngineApi } from '../engine/engine-api.ts';
import { imageTag } from '../engine/images.ts';

const engines = inject('engines');

interface Workshop extends AsyncDisposable {
  readonly images: BuiltImages;
  readonly events: EventLog;
  /** The Dockerfile of `base`; the others add nothing to it. */
  recipe(...lines: readonly string[]): Promise<void>;
  build(onEvent?: (event: BuildEvent) => void, signal?: AbortSignal): Promise<BuiltImage>;
}

async function workshop(socket: string, version: string, timeoutMs = 300_000): Promise<Workshop> {
  await using opened = new AsyncDisposableStack();
  const options = opened.use(await testOptions({ dockerSocket: socket }));
  const runtime = dockerRuntime(options, options.docker);
  const pulls = new RunImages({ pullDeadlineMs: 120_000 });
  const ledger = opened.use(new Ledger(join(options.folder, 'ledger.db'), [imageChapter, eventChapter]));
  const events = new EventLog(ledger, { keep: 100, log: noLog });
  const recipes = join(options.folder, 'recipes');
  for (const name of [...builtImageNames, 'build']) await mkdir(join(recipes, name), { recursive: true });
  const images = openBuiltImages({
    ...{ ledger, events, version, recipes, timeoutMs },
    log: noLog,
    runtime: async () => runtime,
    pull: (name, cancel) => {
      if (runtime.images === undefined) throw new Error('no images');
      return pulls.resolve(runtime.images, name, cancel);
    },
    from: imageTag('busybox'),
    mirrors: { proxies: {} },
    network: 'default',
  });
  opened.defer(async () => {
    await images.remove('tests', 'base');
  });
  const held = opened.move();
  return {
    images,
    events,
    recipe: (...lines) =>
      writeFile(join(recipes, 'base', 'Dockerfile'), ['ARG BASE', 'FROM $BASE', ...lines, ''].join('\n')),
    async build(onEvent = () => {}, signal) {
      const building = images.build('tests', { name: 'base', signal });
      let step = await building.next();
      for (; !step.done; step = await building.next()) onEvent(step.value);
      return step.value;
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

async function told(events: EventLog): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  for await (const event of events.read('tests', { after: 0, follow: false })) all.push(event);
  return all;
}

describe.each(['docker', 'podman'] as const)('builds on %s', (name) => {
  const engine = engines[name];
  const at = engine.available ? it : it.skip;
  const why = engine.available ? '' : ` (skipped: ${engine.reason})`;
  const socket = engine.available ? engine.socket : '';
  const patience = { timeout: 420_000 };
  // Podman goes on with a step whose caller has left, until its end.
  const cancels = engine.available && name === 'docker' ? it : it.skip;
  const whyNot = name === 'docker' ? why : ' (skipped: Podman ends a build with its step)';

  at(
    `AGT-6: tells each step and what it says, records the digest and tells that it was built${why}`,
    patience,
    async () => {
      await using shop = await workshop(socket, `${name}-ok`);
      await shop.recipe(`RUN echo "built on ${name}" && printf '\\033[31mred\\033[0m\\n'`, 'LABEL done=yes');
      const seen: BuildEvent[] = [];
      const built = await shop.build((event) => seen.push(event));
      expect(seen).toContainEqual(
        expect.objectContaining({ type: 'build-step', instruction: expect.stringContaining('RUN echo') }),
      );
      const lines = seen.flatMap((event) => (event.type === 'build-output' ? [event.line] : []));
      expect(lines).toEqual(expect.arrayContaining([`built on ${name}`, 'red']));
      const inspected = (await new EngineApi(socket).get(`/images/${built.image}/json`)) as { Id: string };
      expect(built.id).toBe(inspected.Id.startsWith('sha256:') ? inspected.Id : `sha256:${inspected.Id}`);
      expect(await shop.images.list()).toEqual([{ ...built, sizeBytes: expect.any(Number) }]);
      expect(await told(shop.events)).toContainEqual(
        expect.objectContaining({ type: 'image-build', image: built.image, outcome: 'ok', digest: built.id }),
      );
    },
  );

  at(
    `AGT-6: a step that fails is shown with the end of its output, and nothing gets the name${why}`,
    patience,
    async () => {
      await using shop = await workshop(socket, `${name}-fails`);
      await shop.recipe(
        'RUN for n in $(seq 1 200); do echo "line $n"; done; echo "no such compiler" >&2; exit 3',
      );
      const failing = shop.build();
      await expect(failing).rejects.toMatchObject({
        code: 'build_failed',
        message: expect.stringMatching(/line 200[\s\S]*no such compiler|no such compiler[\s\S]*line 200/),
      });
      await expect(failing).rejects.toMatchObject({ message: expect.not.stringContaining('line 100\n') });
      expect(await shop.images.list()).toEqual([]);
      expect(await new EngineApi(socket).imageLabels(`localhost/geode/base:${name}-fails`)).toBeNull();
      expect(await told(shop.events)).toContainEqual(
        expect.objectContaining({ type: 'image-build', outcome: 'build_failed', digest: null }),
      );
    },
  );

  at(`AGT-6: reports a full disk${why}`, patience, async () => {
    await using shop = await workshop(socket, `${name}-full`);
    await shop.recipe('RUN dd if=/dev/zero of=/dev/shm/x bs=1048576 count=4096');
    await expect(shop.build()).rejects.toMatchObject({ code: 'disk_full' });
  });

  cancels(`AGT-6: a cancel ends the step that runs${whyNot}`, patience, async () => {
    await using shop = await workshop(socket, `${name}-cancelled`);
    const seconds = 61_731;
    await shop.recipe(`RUN echo waiting && sleep ${seconds}`);
    const stop = new AbortController();
    const building = shop.build((event) => {
      if (event.type === 'build-output' && event.line === 'waiting') stop.abort();
    }, stop.signal);
    await expect(building).rejects.toMatchObject({ code: 'cancelled' });
    await eventually(async () => !(await runs(`sleep ${seconds}`)), 'the step to end', 60_000);
    expect(await new EngineApi(socket).imageLabels(`localhost/geode/base:${name}-cancelled`)).toBeNull();
  });

  cancels(`AGT-6: a build that takes too long is ended${whyNot}`, patience, async () => {
    await using shop = await workshop(socket, `${name}-slow`, 4_000);
    const seconds = 61_733;
    await shop.recipe(`RUN sleep ${seconds}`);
    await expect(shop.build()).rejects.toMatchObject({ code: 'timed_out' });
    await eventually(async () => !(await runs(`sleep ${seconds}`)), 'the step to end', 60_000);
  });
});

/** Whether a process of this machine has the command line. */
async function runs(words: string): Promise<boolean> {
  const { glob, readFile } = await import('node:fs/promises');
  for await (const file of glob('/proc/[0-9]*/cmdline')) {
    const line = await readFile(file, 'utf8').catch(() => '');
    if (line.replaceAll('\0', ' ').trim() === words) return true;
  }
  return false;
}
