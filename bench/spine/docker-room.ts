import type { Sandbox } from '../../src/seams/sandbox.ts';
import { type Bench, type Findings, nothingBecause } from '../section.ts';
import { type DockerApi, dockerApi } from './docker-api.ts';
import { type DockerCli, dockerCli } from './docker-cli.ts';
import { openPlace, type Place, whyNot } from './place.ts';

/** A running sandbox on docker, and the other ways to reach into the same container. */
export interface DockerRoom {
  readonly place: Place;
  readonly sandbox: Sandbox;
  readonly api: DockerApi;
  readonly cli: DockerCli | undefined;
}

export async function inDocker(
  bench: Bench,
  name: 'docker' | 'docker over stdio',
  measure: (room: DockerRoom) => Promise<Findings>,
): Promise<Findings> {
  const { docker } = bench.engines;
  if (!docker.available) return nothingBecause(whyNot(bench, name) ?? '');
  await using place = await openPlace(bench, name);
  using api = dockerApi(docker.socket);
  return await measure({ place, api, sandbox: await place.open(), cli: await dockerCli(bench) });
}
