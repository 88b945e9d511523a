import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { attempts } from '../../src/cli/attack/attempts.ts';
import { ensureGvisor, imageTag } from '../engine/index.ts';
import { loadFrom, storeIn } from '../runtimes/oci-store.ts';
import { patience, sandboxHome } from './sandbox-home.ts';

const { bubblewrap, docker, podman } = inject('engines');
const buildDeadlineMs = 900_000;

interface Card {
  readonly runtime: string;
  readonly grade: string;
  readonly attempts: readonly { kind: string; name: string; verdict: string; by: string; evidence: string }[];
}

async function attacked(
  runtime: string,
  env: Readonly<Record<string, string>> = {},
  prepare: (stateDir: string) => Promise<void> = async () => {},
) {
  await using home = await sandboxHome({ GEODE_SANDBOX_LINGER: '0', ...env });
  await prepare(join(home.folder, '.local/state/geode'));
  const { code, stdout, stderr } = await home.run(['doctor', '--attack', '--runtime', runtime, '--json']);
  expect(stderr).toBe('');
  const [card]: Card[] = JSON.parse(stdout).runtimes;
  if (card === undefined) throw new Error('There is no scorecard');
  const people = await home.run(['doctor', '--attack', '--runtime', runtime]);
  expect(people.code).toBe(code);
  return { code, card, shown: people.stdout };
}

const throughOf = (card: Card) =>
  card.attempts.filter(({ verdict }) => verdict === 'got-through').map(({ name }) => name);

/** Every kind has attempts that were made and stopped, each with what stopped it. */
function expectWalls({ code, card, shown }: Awaited<ReturnType<typeof attacked>>): void {
  expect(card.attempts.filter(({ verdict }) => verdict === 'got-through')).toEqual([]);
  expect(code).toBe(0);
  expect(card.attempts.map(({ name }) => name)).toEqual(attempts.map(({ name }) => name));
  for (const kind of ['break-out', 'exhaustion', 'egress'])
    expect(card.attempts.filter((each) => each.kind === kind && each.verdict === 'stopped')).not.toEqual([]);
  const by = (name: string) => card.attempts.find((each) => each.name === name)?.by;
  expect(by('read a file of the host')).toContain('file system of its own');
  expect(by('kill a process of the host')).toContain('processes of its own');
  expect(by('take more memory than the limit')).toBe('the memory limit');
  expect(by('start more processes than the limit')).toBe('the limit of processes');
  expect(by("connect to the host's own address")).toContain('no network');
  for (const { verdict, evidence } of card.attempts) if (verdict === 'stopped') expect(evidence).not.toBe('');
  expect(shown).toContain(`${card.runtime} (grade ${card.grade})`);
  expect(shown).toMatch(/✓ egress\s+connect to the host's own address\s+stopped by no network/);
}

describe('CLI-2: geode doctor --attack', patience, () => {
  it.skipIf(!bubblewrap.available)('bubblewrap stops every attempt, and says what did', async () => {
    expectWalls(await attacked('bubblewrap'));
  });

  it.skipIf(!docker.available)('docker stops every attempt, and says what did', async () => {
    const socket = docker.available ? docker.socket : '';
    const env = { GEODE_DOCKER_HOST: `unix://${socket}`, GEODE_DOCKER_IMAGE: imageTag('base') };
    const result = await attacked('docker', env);
    expectWalls(result);
    // The socket is there on this machine, so that the attempt is a real one.
    expect(result.card.attempts.find(({ name }) => name.includes("engine's socket"))?.verdict).toBe(
      'stopped',
    );
  });

  it.skipIf(!podman.available)('podman stops every attempt, and says what did', async () => {
    const socket = podman.available ? podman.socket : '';
    const env = { GEODE_DOCKER_HOST: `unix://${socket}`, GEODE_DOCKER_IMAGE: imageTag('base') };
    expectWalls(await attacked('docker', env));
  });

  it.skipIf(!docker.available)('oci with runc stops every attempt, and says what did', async () => {
    const socket = docker.available ? docker.socket : '';
    const env = { GEODE_OCI_PROGRAM: 'runc', GEODE_OCI_IMAGE: imageTag('base') };
    const load = (stateDir: string) => loadFrom(socket, storeIn(stateDir), [imageTag('base')]);
    expectWalls(await attacked('oci', env, load));
  });

  it.skipIf(!docker.available)(
    'docker with gVisor stops what leads out of its kernel, and shows what does not',
    { timeout: buildDeadlineMs },
    async () => {
      await ensureGvisor();
      const env = {
        GEODE_DOCKER_HOST: `unix://${docker.available ? docker.socket : ''}`,
        GEODE_DOCKER_IMAGE: imageTag('base'),
        GEODE_DOCKER_OCI_RUNTIME: 'runsc',
      };
      const { code, card } = await attacked('docker', env);
      expect({ code, grade: card.grade }).toEqual({ code: 1, grade: 'kernel' });
      // gVisor applies no seccomp profile to its own kernel, and its workspace is a volume without a size.
      expect(throughOf(card)).toEqual(['become root in namespaces of its own', 'fill the disk']);
    },
  );

  it.skipIf(!docker.available)('docker over its own stdio stops all but what fills its disk', async () => {
    const env = {
      GEODE_DOCKER_HOST: `unix://${docker.available ? docker.socket : ''}`,
      GEODE_DOCKER_IMAGE: imageTag('base'),
      GEODE_DOCKER_LINK: 'stdio',
    };
    const { code, card } = await attacked('docker', env);
    const through = throughOf(card);
    // A volume of the engine has no size: the runtime says that it cannot limit the disk.
    expect({ code, through }).toEqual({ code: 1, through: ['fill the disk'] });
  });

  it('skips a runtime that does not work here and gives the reason: apple on a machine that is not a Mac', async () => {
    await using home = await sandboxHome({});
    const { code, stderr } = await home.run(['doctor', '--attack', '--runtime', 'apple']);
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('macOS') });
  });

  it('native has no walls: the same attempts get through, and nothing outside is harmed', async () => {
    const { code, card, shown } = await attacked('native');
    expect(code).toBe(1);
    const through = throughOf(card);
    expect(through).toEqual(
      expect.arrayContaining([
        'read a file of the host',
        'write a file of the host',
        'kill a process of the host',
        'take more memory than the limit',
        'start more processes than the limit',
        "connect to the host's loopback",
        'send a datagram, as a DNS tunnel does',
      ]),
    );
    expect(shown).toMatch(/✗ break-out\s+read a file of the host\s+GOT THROUGH/);
    expect((await readdir(tmpdir())).filter((name) => name.startsWith('geode-attack-'))).toEqual([]);
  });

  it('refuses a runtime that is not there or does not work', async () => {
    await using home = await sandboxHome({});
    expect(await home.run(['doctor', '--attack', '--runtime', 'warp'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no runtime warp'),
    });
    expect(await home.run(['doctor', '--runtime', 'native'])).toMatchObject({ code: 2 });
  });
});
