import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Bench } from '../section.ts';
import { localProcess, type Timing } from './local-process.ts';

/** The `docker` program of this machine, pointed at the engine that the sandboxes are on. */
export interface DockerCli {
  run(...args: readonly string[]): Promise<Timing>;
}

/** The reason if it is missing. */
export const noDockerCli = 'the docker program is not installed';

export async function dockerCli({ engines: { docker }, signal }: Bench): Promise<DockerCli | undefined> {
  if (!docker.available || (await dockerCliVersion()) === undefined) return undefined;
  const env = { ...process.env, DOCKER_HOST: `unix://${docker.socket}` };
  return { run: (...args) => localProcess(['docker', ...args], { env, signal }) };
}

export async function dockerCliVersion(): Promise<string | undefined> {
  const answer = await promisify(execFile)('docker', ['--version']).catch(() => undefined);
  return answer === undefined ? undefined : /version ([^\s,]+)/.exec(answer.stdout)?.[1];
}
