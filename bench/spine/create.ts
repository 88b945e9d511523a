import { randomBytes } from 'node:crypto';
import {
  type Comparison,
  type Contender,
  compare,
  contender,
  type LeftOut,
  millisecondsOf,
} from '../measure.ts';
import { atMost, type Bench, type Findings, nothingBecause, type Section, together } from '../section.ts';
import { plainProcess } from './contenders.ts';
import { noDockerCli } from './docker-cli.ts';
import { type DockerRoom, inDocker } from './docker-room.ts';
import { benchOwner, containerOf, openPlace, type Place, whyNot } from './place.ts';

const createAndStart = 'Docker API create + start';

export const createSection: Section = {
  name: 'create',
  title: 'A new sandbox, until its guest has answered',
  run: async (bench) =>
    together(await inDocker(bench, 'docker', (room) => onDocker(bench, room)), await onBubblewrap(bench)),
};

async function onDocker(bench: Bench, room: DockerRoom): Promise<Findings> {
  const comparison: Comparison = await compare(
    {
      name: 'new sandbox in docker',
      unit: 'ms',
      rounds: bench.rounds(20),
      ours: opened(room.place),
      others: [await sameContainer(room), await dockerRun(room)],
    },
    bench.signal,
  );
  const same = comparison.others.find(({ name }) => name === createAndStart);
  const times = same === undefined ? Number.NaN : Number((comparison.ours.p50 / same.p50).toPrecision(3));
  return {
    comparisons: [comparison],
    targets: [atMost(`cold create against ${createAndStart}`, 1.25, '×', times)],
    leftOut: [],
  };
}

function opened(place: Place): Contender {
  return contender('Geode', async () => {
    const began = performance.now();
    await using _sandbox = await place.open();
    return performance.now() - began;
  });
}

/** A container with the sandbox's own image, user and HostConfig; it sleeps, and nobody waits for an answer. */
async function sameContainer({ api, sandbox }: DockerRoom): Promise<Contender> {
  const { Config, HostConfig } = await api.inspect(containerOf(sandbox));
  const body = {
    ...Config,
    HostConfig,
    Entrypoint: ['sleep'],
    Cmd: ['60'],
    Labels: { 'dev.geode.owner': benchOwner },
  };
  return contender(createAndStart, async () => {
    const name = `geode-bench-${randomBytes(6).toString('hex')}`;
    try {
      return await millisecondsOf(() => api.createAndStart(name, body));
    } finally {
      await api.remove(name);
    }
  });
}

async function dockerRun({ api, cli, sandbox }: DockerRoom): Promise<Contender | LeftOut> {
  const name = 'docker run --rm IMAGE true';
  if (cli === undefined) return { name, reason: noDockerCli };
  const { Config } = await api.inspect(containerOf(sandbox));
  const label = `dev.geode.owner=${benchOwner}`;
  return contender(
    name,
    async () => (await cli.run('run', '--rm', '--label', label, Config.Image, 'true')).totalMs,
  );
}

async function onBubblewrap(bench: Bench): Promise<Findings> {
  const missing = whyNot(bench, 'bubblewrap');
  if (missing !== undefined) return nothingBecause(missing);
  await using place = await openPlace(bench, 'bubblewrap');
  const trial = ['bwrap', '--unshare-all', '--ro-bind', '/', '/', '--proc', '/proc', 'true'] as const;
  const comparison = await compare(
    {
      name: 'new sandbox in bubblewrap',
      unit: 'ms',
      rounds: bench.rounds(30),
      ours: opened(place),
      others: [{ ...plainProcess(bench, trial), name: 'bwrap … true' }],
    },
    bench.signal,
  );
  return { comparisons: [comparison], targets: [], leftOut: [] };
}
