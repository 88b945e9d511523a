import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { describe, expect, inject, it } from 'vitest';
import { attempts } from '../../src/cli/attack/attempts.ts';
import { imageTag } from '../engine/index.ts';
import { patience, sandboxHome } from './sandbox-home.ts';

const { bubblewrap, docker } = inject('engines');

interface Card {
  readonly runtime: string;
  readonly grade: string;
  readonly attempts: readonly { kind: string; name: string; verdict: string; by: string; evidence: string }[];
}

async function attacked(runtime: string, env: Readonly<Record<string, string>> = {}) {
  await using home = await sandboxHome({ GEODE_SANDBOX_LINGER: '0', ...env });
  const { code, stdout, stderr } = await home.run(['doctor', '--attack', '--runtime', runtime, '--json']);
  expect(stderr).toBe('');
  const [card]: Card[] = JSON.parse(stdout).runtimes;
  if (card === undefined) throw new Error('There is no scorecard');
  const people = await home.run(['doctor', '--attack', '--runtime', runtime]);
  expect(people.code).toBe(code);
  return { code, card, shown: people.stdout };
}

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

  it('native has no walls: the same attempts get through, and nothing outside is harmed', async () => {
    const { code, card, shown } = await attacked('native');
    expect(code).toBe(1);
    const through = card.attempts.filter(({ verdict }) => verdict === 'got-through').map(({ name }) => name);
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
