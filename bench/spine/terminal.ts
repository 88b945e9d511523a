/** Waiting times of a person at a terminal: whole programs, from start to exit, with a warm host. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { imageTag } from '../../test/engine/index.ts';
import { type Comparison, type Contender, compare, contender, type LeftOut } from '../measure.ts';
import { atLeast, atMost, type Bench, nothingBecause, type Section } from '../section.ts';
import { type DockerCli, dockerCli, noDockerCli } from './docker-cli.ts';
import { localProcess } from './local-process.ts';

const geodeProgram = fileURLToPath(new URL('../../bin/geode.js', import.meta.url));
const image = imageTag('python');
const code = 'print(1)';

export const terminalSection: Section = {
  name: 'terminal',
  title: 'Commands at a terminal',
  async run(bench) {
    const { docker } = bench.engines;
    if (!docker.available) return nothingBecause(`docker: ${docker.reason}`);
    await using home = await terminalHome(bench, docker.socket);
    const cli = await dockerCli(bench);
    await using container = await plainContainer(cli);
    const { geode } = home;
    await geode.sample('sandbox', 'create', 'bench');
    await geode.sample('memory', 'add', 'Deploys run from the release branch');
    const ask = (name: string, ours: Contender, others: readonly (Contender | LeftOut)[]) =>
      compare({ name, unit: 'ms', rounds: bench.rounds(30), ours, others }, bench.signal);
    const help = await ask('`geode --help`', geode('--help'), [node(bench)]);
    const run = await ask("`geode run python -c 'print(1)'`", geode('run', '-q', 'python', '-c', code), [
      docked(cli, 'docker run --rm', 'run', '--rm', image, 'python3', '-c', code),
    ]);
    const exec = await ask('`geode sandbox exec`', geode('sandbox', 'exec', 'bench', '--', 'true'), [
      docked(cli, 'docker exec', 'exec', container.name, 'true'),
    ]);
    const search = await ask('`geode memory search`', geode('memory', 'search', 'deploys'), [node(bench)]);
    return {
      comparisons: [help, run, exec, search],
      targets: [
        atMost('`geode --help` against `node -e 0`', 2.5, '×', slower(help)),
        atLeast('`geode run` against `docker run --rm`', 2, '×', faster(run)),
        atLeast('`geode sandbox exec` against `docker exec`', 1, '×', faster(exec)),
        atMost('`geode memory search`', 100, 'ms', search.ours.p50),
      ],
      leftOut: cli === undefined ? [noDockerCli] : [],
    };
  },
};

function faster({ others }: Comparison): number {
  return others[0]?.ratio.times ?? Number.NaN;
}

function slower(comparison: Comparison): number {
  return Number((1 / faster(comparison)).toPrecision(4));
}

function node({ signal }: Bench): Contender {
  const start = async () => (await localProcess([process.execPath, '-e', '0'], { signal })).totalMs;
  return contender('node -e 0', start);
}

function docked(cli: DockerCli | undefined, name: string, ...args: readonly string[]): Contender | LeftOut {
  if (cli === undefined) return { name, reason: noDockerCli };
  return contender(name, async () => (await cli.run(...args)).totalMs);
}

interface TerminalHome extends AsyncDisposable {
  /** A command as it is typed; `sample` runs another one once. */
  readonly geode: ((...args: readonly string[]) => Contender) & {
    sample(...args: readonly string[]): Promise<number>;
  };
}

/** A home of its own, with a host that is there for as long as the section takes. */
async function terminalHome({ signal }: Bench, socket: string): Promise<TerminalHome> {
  const folder = await mkdtemp(join(tmpdir(), 'geode-terminal-'));
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    GEODE_RUNTIME_NAME: 'docker',
    GEODE_DOCKER_HOST: `unix://${socket}`,
    GEODE_DOCKER_IMAGE: image,
    GEODE_RUNS_IMAGES: JSON.stringify({ python: image }),
    GEODE_SANDBOX_RUN_DIR: join(folder, 'run'),
    GEODE_SANDBOX_LINGER: '600',
  };
  const start = async (...args: readonly string[]) =>
    (await localProcess([process.execPath, geodeProgram, ...args], { env, signal })).totalMs;
  const geode = (...args: readonly string[]) => contender('Geode', () => start(...args));
  return {
    geode: Object.assign(geode, { sample: start }),
    async [Symbol.asyncDispose]() {
      const late = { env, signal: AbortSignal.timeout(120_000) };
      const end = (...args: readonly string[]) =>
        localProcess([process.execPath, geodeProgram, ...args], late).catch(() => {});
      await end('sandbox', 'rm', 'bench');
      await end('host', 'stop');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function plainContainer(
  cli: DockerCli | undefined,
): Promise<{ readonly name: string } & AsyncDisposable> {
  const name = `geode-terminal-${randomBytes(6).toString('hex')}`;
  await cli?.run('run', '-d', '--network', 'none', '--name', name, image, 'sleep', '86400');
  return {
    name,
    async [Symbol.asyncDispose]() {
      await cli?.run('rm', '-f', name);
    },
  };
}
