import { compare } from '../measure.ts';
import {
  atLeast,
  atMost,
  type Bench,
  type Findings,
  nothingBecause,
  type Section,
  together,
} from '../section.ts';
import { apiExec, dockerExec, plainProcess, sandboxExec } from './contenders.ts';
import { type DockerRoom, inDocker } from './docker-room.ts';
import { openPlace, whyNot } from './place.ts';

export const execSection: Section = {
  name: 'exec',
  title: 'A command in a running sandbox',
  run: async (bench) =>
    together(
      await inDocker(bench, 'docker', (room) => beside(bench, room)),
      await besidePlain(bench, 'bubblewrap'),
      await besidePlain(bench, 'native'),
    ),
};

async function beside(bench: Bench, { sandbox, cli, api }: DockerRoom): Promise<Findings> {
  const nothing = ['true'] as const;
  const python = ['python3', '-c', 'pass'] as const;
  const plain = await compare(
    {
      name: '`true` in docker',
      unit: 'ms',
      rounds: bench.rounds(100),
      ours: sandboxExec(sandbox, nothing),
      others: [
        dockerExec(cli, sandbox, nothing),
        apiExec(api, sandbox, nothing),
        plainProcess(bench, nothing),
      ],
    },
    bench.signal,
  );
  const interpreter = await compare(
    {
      name: '`python3 -c pass` in docker',
      unit: 'ms',
      rounds: bench.rounds(50),
      ours: sandboxExec(sandbox, python),
      others: [dockerExec(cli, sandbox, python), apiExec(api, sandbox, python)],
    },
    bench.signal,
  );
  const byCli = plain.others.find(({ name }) => name === 'docker exec');
  return {
    comparisons: [plain, interpreter],
    targets: [
      atMost('exec of `true`', 4, 'ms', plain.ours.p50),
      ...(byCli === undefined
        ? []
        : [atLeast('exec of `true` against `docker exec`', 15, '×', byCli.ratio.times)]),
    ],
    leftOut: [],
  };
}

async function besidePlain(bench: Bench, name: 'bubblewrap' | 'native'): Promise<Findings> {
  const missing = whyNot(bench, name);
  if (missing !== undefined) return nothingBecause(missing);
  await using place = await openPlace(bench, name);
  const sandbox = await place.open();
  const comparison = await compare(
    {
      name: `\`true\` in ${name}`,
      unit: 'ms',
      rounds: bench.rounds(300),
      ours: sandboxExec(sandbox, ['true']),
      others: [plainProcess(bench, ['true'])],
    },
    bench.signal,
  );
  return { comparisons: [comparison], targets: [], leftOut: [] };
}
