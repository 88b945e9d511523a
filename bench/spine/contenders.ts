import type { Sandbox } from '../../src/seams/sandbox.ts';
import { type Contender, contender, type LeftOut } from '../measure.ts';
import type { Bench } from '../section.ts';
import type { DockerApi } from './docker-api.ts';
import { type DockerCli, noDockerCli } from './docker-cli.ts';
import { localProcess, type Timing } from './local-process.ts';
import { containerOf } from './place.ts';

export type Argv = readonly [string, ...string[]];
type Part = (timing: Timing) => number;

const total: Part = ({ totalMs }) => totalMs;

/** The whole round trip: the exit is known and all output is here. */
export function sandboxExec(sandbox: Sandbox, argv: Argv, expectedBytes = 0): Contender {
  return contender('Geode', async () => {
    const began = performance.now();
    const { exitCode, bytes } = await sandbox.exec({ argv });
    const elapsed = performance.now() - began;
    if (exitCode !== 0 || bytes.stdout.length !== expectedBytes) {
      throw new Error(`${argv.join(' ')} ended with ${exitCode} and ${bytes.stdout.length} bytes`);
    }
    return elapsed;
  });
}

export function dockerExec(
  cli: DockerCli | undefined,
  sandbox: Sandbox,
  argv: Argv,
  part: Part = total,
): Contender | LeftOut {
  const name = 'docker exec';
  if (cli === undefined) return { name, reason: noDockerCli };
  return contender(name, async () => part(await cli.run('exec', containerOf(sandbox), ...argv)));
}

export function apiExec(api: DockerApi, sandbox: Sandbox, argv: Argv, part: Part = total): Contender {
  return contender('Docker API exec', async () => part(await api.exec(containerOf(sandbox), argv)));
}

export function plainProcess({ signal }: Bench, argv: Argv, part: Part = total): Contender {
  return contender('plain process', async () => part(await localProcess(argv, { signal })));
}
