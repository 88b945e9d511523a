import { type Comparison, compare } from '../measure.ts';
import { atLeast, atMost, type Bench, type Findings, type Section, type Target } from '../section.ts';
import { apiExec, dockerExec, plainProcess, sandboxExec } from './contenders.ts';
import { dockerApi } from './docker-api.ts';
import { dockerCli } from './docker-cli.ts';
import { openPlace, whyNot } from './place.ts';

export const execSection: Section = {
  name: 'exec',
  title: 'A command in a running sandbox',
  async run(bench) {
    const leftOut: string[] = [];
    const comparisons: Comparison[] = [];
    const missing = whyNot(bench, 'docker');
    if (missing === undefined) comparisons.push(...(await inDocker(bench)));
    else leftOut.push(missing);
    for (const name of ['bubblewrap', 'native'] as const) {
      const reason = whyNot(bench, name);
      if (reason === undefined) comparisons.push(await besidePlain(bench, name));
      else leftOut.push(reason);
    }
    return { comparisons, targets: targets(comparisons[0]), leftOut };
  },
};

async function inDocker(bench: Bench): Promise<Comparison[]> {
  const { docker } = bench.engines;
  if (!docker.available) return [];
  await using place = await openPlace(bench, 'docker');
  using api = dockerApi(docker.socket);
  const sandbox = await place.open();
  const cli = await dockerCli(bench);
  const nothing = ['true'] as const;
  const python = ['python3', '-c', 'pass'] as const;
  return [
    await compare(
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
    ),
    await compare(
      {
        name: '`python3 -c pass` in docker',
        unit: 'ms',
        rounds: bench.rounds(50),
        ours: sandboxExec(sandbox, python),
        others: [dockerExec(cli, sandbox, python), apiExec(api, sandbox, python)],
      },
      bench.signal,
    ),
  ];
}

async function besidePlain(bench: Bench, name: 'bubblewrap' | 'native'): Promise<Comparison> {
  await using place = await openPlace(bench, name);
  const sandbox = await place.open();
  return compare(
    {
      name: `\`true\` in ${name}`,
      unit: 'ms',
      rounds: bench.rounds(300),
      ours: sandboxExec(sandbox, ['true']),
      others: [plainProcess(bench, ['true'])],
    },
    bench.signal,
  );
}

function targets(first: Comparison | undefined): Target[] {
  if (first === undefined || !first.name.endsWith('in docker')) return [];
  const cli = first.others.find(({ name }) => name === 'docker exec');
  return [
    atMost('exec of `true`', 4, 'ms', first.ours.p50),
    ...(cli === undefined ? [] : [atLeast('exec of `true` against `docker exec`', 15, '×', cli.ratio.times)]),
  ];
}

/** For sections that are about docker alone. */
export function nothingFor(reason: string): Findings {
  return { comparisons: [], targets: [], leftOut: [reason] };
}
