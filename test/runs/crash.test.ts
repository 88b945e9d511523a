import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, inject, it } from 'vitest';
import { isOrphan } from '../../src/pool/host-mark.ts';
import { reap } from '../../src/pool/reap.ts';
import { findCgroups } from '../../src/runtimes/bubblewrap/cgroup-home.ts';
import { cgroupIds } from '../../src/runtimes/bubblewrap/cgroups.ts';
import { allRuntimes } from '../../src/runtimes/index.ts';
import { roomOf } from '../../src/runtimes/rooms.ts';
import type { RuntimeName } from '../../src/seams/runtime.ts';
import { fixture, optionsIn, testOptions, type World } from '../contracts/harness.ts';
import { generator } from '../fixtures/random.ts';

const { docker, bubblewrap } = inject('engines');
/** The long form: `GEODE_TEST_CRASHES=300 GEODE_TEST_SEED=… npx vitest run test/runs/crash.test.ts`. */
const asked = Number(process.env.GEODE_TEST_CRASHES ?? 0);
const seed = Number(process.env.GEODE_TEST_SEED ?? Date.now() % 1_000_000);
const longestLifeMs = 2_500;

interface Case {
  readonly name: RuntimeName;
  readonly title: string;
  readonly world: World;
  readonly crashes: number;
  readonly unavailable?: string | undefined;
}

const onDocker = { unavailable: docker.available ? undefined : docker.reason };
const socket = docker.available ? { dockerSocket: docker.socket } : {};
const cases: readonly Case[] = [
  { name: 'docker', title: 'docker', world: socket, crashes: asked || 6, ...onDocker },
  {
    name: 'docker',
    title: 'docker over stdio',
    world: { ...socket, dockerLink: 'stdio' },
    crashes: asked || 3,
    ...onDocker,
  },
  {
    name: 'bubblewrap',
    title: 'bubblewrap',
    world: {},
    crashes: asked || 8,
    unavailable: bubblewrap.available ? undefined : bubblewrap.reason,
  },
  { name: 'native', title: 'native', world: {}, crashes: asked || 8 },
];

describe('RUN-6: hosts that are killed at any moment', () => {
  for (const { name, title, world, crashes, unavailable } of cases) {
    const reason = unavailable === undefined ? '' : ` (skipped: ${unavailable})`;
    it.skipIf(unavailable !== undefined)(
      `${title}: after ${crashes} crashes one pass of the reaper leaves nothing (seed ${seed})${reason}`,
      { timeout: 120_000 + crashes * 2 * longestLifeMs },
      async () => {
        const { folder } = await testOptions();
        const random = generator(seed);
        let finished = 0;
        for (let crash = 0; crash < crashes; crash += 1) {
          // Every other one has run code before: a slow machine would kill none but those that just begin.
          const begun = crash % 2 === 1;
          finished += await liveAndDie(folder, world, name, random() * longestLifeMs, begun);
        }
        const options = await optionsIn(folder, world);
        const runtimes = allRuntimes(options);
        const reaped = await reap(runtimes, (id) => isOrphan('run', id));
        expect(finished).toBeGreaterThanOrEqual(Math.floor(crashes / 2));
        console.log(`${title}: ${finished} runs, ${crashes} crashes, ${reaped.length} sandboxes reaped`);
        const runtime = runtimes.find((candidate) => candidate.name === name);
        const home = await findCgroups();
        expect({
          traces: (await runtime?.traces())?.filter((id) => reaped.includes(id)),
          folders: [
            ...entries(`${folder}/state/sandboxes`),
            ...entries(dirname(roomOf(options, 'any').runFolder)),
          ],
          groups: home === undefined ? [] : await cgroupIds(home, options),
          processes: processesNaming(folder),
        }).toEqual({ traces: [], folders: [], groups: [], processes: [] });
        await rm(folder, { recursive: true });
      },
    );
  }
});

/** Returns how many runs were over when it was killed. */
async function liveAndDie(
  folder: string,
  world: World,
  name: string,
  ms: number,
  begun: boolean,
): Promise<number> {
  const host = spawn(process.execPath, [fixture('crash-host.ts'), folder, JSON.stringify(world), name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(host, 'exit');
  let said = '';
  host.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  if (begun) await Promise.race([once(host.stdout, 'data'), exited]);
  await delay(ms);
  expect(host.exitCode, 'the host ended by itself').toBeNull();
  host.kill('SIGKILL');
  await exited;
  return said.split('\n').length - 1;
}

function entries(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function processesNaming(folder: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    const facts = ['cmdline', 'environ', 'mountinfo'].map((file) => {
      try {
        return readFileSync(`/proc/${pid}/${file}`, 'utf8');
      } catch {
        return '';
      }
    });
    return facts.some((fact) => fact.includes(folder));
  });
}
