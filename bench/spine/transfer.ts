import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import {
  type Comparison,
  type Contender,
  compare,
  contender,
  type LeftOut,
  millisecondsOf,
} from '../measure.ts';
import { atLeast, type Bench, type Findings, type Section, together } from '../section.ts';
import { noDockerCli } from './docker-cli.ts';
import { type DockerRoom, inDocker } from './docker-room.ts';
import { containerOf } from './place.ts';

const megabytes = 256;
const largeBytes = megabytes * 1e6;
const smallFiles = 1_000;
const smallBytes = 1_000;
const chunkBytes = 1024 ** 2;

export const transferSection: Section = {
  name: 'transfer',
  title: 'Files in and out',
  async run(bench) {
    await using host = await hostFiles();
    const overSocket = await inDocker(bench, 'docker', async (room) => {
      const up = await large(bench, upload(bench, room, host), 'upload', 'over the socket', 7);
      const down = await large(bench, download(bench, room, host), 'download', 'over the socket', 7);
      return {
        comparisons: [up, down, await small(bench, room, host)],
        targets: [
          atLeast('upload', 400, 'MB/s', up.ours.p50),
          atLeast('download', 400, 'MB/s', down.ours.p50),
        ],
        leftOut: [],
      };
    });
    const overStdio = await inDocker(bench, 'docker over stdio', async (room): Promise<Findings> => {
      const up = await large(bench, upload(bench, room, host), 'upload', 'over stdio', 3);
      const down = await large(bench, download(bench, room, host), 'download', 'over stdio', 3);
      return { comparisons: [up, down], targets: [], leftOut: [] };
    });
    return together(overSocket, overStdio);
  },
};

interface HostFiles extends AsyncDisposable {
  readonly large: string;
  readonly small: string;
  /** Where downloads go. */
  readonly received: string;
}

async function hostFiles(): Promise<HostFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'transfer-'));
  const files = {
    large: join(folder, 'large'),
    small: join(folder, 'small'),
    received: join(folder, 'received'),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
  const million = randomBytes(1e6);
  await writeFile(files.large, Array<Buffer>(megabytes).fill(million));
  await mkdir(files.small);
  for (let index = 0; index < smallFiles; index += 1) {
    await writeFile(join(files.small, `file-${index}`), million.subarray(0, smallBytes));
  }
  return files;
}

interface Way {
  readonly ours: Contender;
  readonly others: readonly (Contender | LeftOut)[];
}

function large(bench: Bench, way: Way, what: string, how: string, rounds: number): Promise<Comparison> {
  const name = `${what} of ${megabytes} MB in docker ${how}`;
  return compare({ name, unit: 'MB/s', rounds: bench.rounds(rounds), ...way }, bench.signal);
}

/** From a file of the host to a file of the sandbox, as `docker cp` does it. */
function upload({ signal }: Bench, { sandbox, cli }: DockerRoom, host: HostFiles): Way {
  const emptied = async () => {
    await sandbox.files.remove('large');
  };
  const source = () => createReadStream(host.large, { highWaterMark: chunkBytes });
  return {
    ours: moving('Geode', () => sandbox.files.write('large', source(), { signal }), emptied),
    others: [
      cli === undefined
        ? { name: 'docker cp', reason: noDockerCli }
        : moving(
            'docker cp',
            () => cli.run('cp', host.large, `${containerOf(sandbox)}:/workspace/large`),
            emptied,
          ),
    ],
  };
}

function download({ signal }: Bench, { sandbox, cli }: DockerRoom, host: HostFiles): Way {
  const target = () => createWriteStream(host.received, { highWaterMark: chunkBytes });
  const checked = async () => {
    const { size } = await stat(host.received);
    await rm(host.received);
    if (size !== largeBytes) throw new Error(`${size} bytes arrived of ${largeBytes}`);
  };
  const present = async () => {
    if (!(await sandbox.files.exists('large')))
      await sandbox.files.write('large', createReadStream(host.large));
  };
  const ours = moving(
    'Geode',
    () => pipeline(sandbox.files.stream('large', { signal }), target()),
    checked,
    present,
  );
  return {
    ours,
    others: [
      cli === undefined
        ? { name: 'docker cp', reason: noDockerCli }
        : moving(
            'docker cp',
            () => cli.run('cp', `${containerOf(sandbox)}:/workspace/large`, host.received),
            checked,
            present,
          ),
    ],
  };
}

/** Megabytes a second; what is made ready before and cleaned up after is not counted. */
function moving(
  name: string,
  move: () => Promise<unknown>,
  after: () => Promise<void>,
  before: () => Promise<void> = async () => {},
): Contender {
  return contender(name, async () => {
    await before();
    const elapsed = await millisecondsOf(move);
    await after();
    return megabytes / (elapsed / 1000);
  });
}

function small(bench: Bench, { sandbox, cli }: DockerRoom, host: HostFiles): Promise<Comparison> {
  // Into a folder that is there: the sandbox could not remove one that `docker cp` makes, which is root's.
  const timed = (name: string, move: () => Promise<unknown>) =>
    contender(name, async () => {
      await sandbox.files.mkdir('small');
      const elapsed = await millisecondsOf(move);
      await sandbox.files.remove('small');
      return elapsed;
    });
  const target = `${containerOf(sandbox)}:/workspace/small`;
  return compare(
    {
      name: `upload of ${smallFiles} files of ${smallBytes / 1000} kB in docker`,
      unit: 'ms',
      rounds: bench.rounds(10),
      ours: timed('Geode', () => sandbox.files.upload(host.small, 'small')),
      others: [
        cli === undefined
          ? { name: 'docker cp', reason: noDockerCli }
          : timed('docker cp', () => cli.run('cp', `${host.small}/.`, target)),
      ],
    },
    bench.signal,
  );
}
