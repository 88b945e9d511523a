import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { isOrphan } from '../../src/pool/host-mark.ts';
import { reap } from '../../src/pool/reap.ts';
import type { Sandboxes } from '../../src/seams/persistent.ts';
import type { RuntimeName } from '../../src/seams/runtime.ts';
import { events } from '../contracts/exec.ts';
import { eventually, fixture, testOptions, type World } from '../contracts/harness.ts';
import { ensureGvisor } from '../engine/index.ts';
import { generator } from '../fixtures/random.ts';
import { type Action, outputOf, type Work } from '../fixtures/sandbox-actions.ts';
import { loadFrom, storeIn } from '../runtimes/oci-store.ts';
import { hostIn, runtimeIn } from './world.ts';

const { bubblewrap, docker } = inject('engines');
/** The long form: `GEODE_TEST_CRASHES=300 GEODE_TEST_SEED=… npx vitest run test/sandboxes/crash.test.ts`. */
const asked = Number(process.env.GEODE_TEST_CRASHES ?? 0);
const seed = Number(process.env.GEODE_TEST_SEED ?? Date.now() % 1_000_000);
/** Short, so that most of them die while they begin or are at work. */
const longestLifeMs = asked > 0 ? 1_500 : 700;
/** Of all runtimes together, in the usual form. */
const fewestKills = 52;

interface Case {
  readonly name: RuntimeName;
  /** Of `oci`. */
  readonly program?: 'runc' | 'gVisor';
  readonly world: World;
  readonly rounds: number;
  readonly unavailable?: string | undefined;
}

const cases: readonly Case[] = [
  { name: 'native', world: {}, rounds: asked || 12 },
  {
    name: 'bubblewrap',
    world: {},
    rounds: asked || 20,
    unavailable: bubblewrap.available ? undefined : bubblewrap.reason,
  },
  {
    name: 'docker',
    world: docker.available ? { dockerSocket: docker.socket } : {},
    rounds: asked || 12,
    unavailable: docker.available ? undefined : docker.reason,
  },
  // Their image comes from that engine.
  ...(['runc', 'gVisor'] as const).map((program) => ({
    name: 'oci' as const,
    program,
    world: {},
    rounds: asked || 4,
    unavailable: docker.available ? undefined : docker.reason,
  })),
];

describe('SBX-6 REL-1: hosts of sandboxes that are killed at any moment', () => {
  let kills = 0;
  let images = '';
  let gvisor = '';
  beforeAll(async () => {
    images = await mkdtemp(join(tmpdir(), 'geode-test-store-'));
    if (docker.available) {
      gvisor = await ensureGvisor();
      await loadFrom(docker.socket, storeIn(images), ['geode-test/python:1']);
    }
  }, 900_000);
  afterAll(() => rm(images, { recursive: true, force: true }));

  for (const { name, program, world: given, rounds, unavailable } of cases) {
    const title = program === undefined ? name : `OCI-5: ${name} with ${program}`;
    const reason = unavailable === undefined ? '' : ` (skipped: ${unavailable})`;
    it.skipIf(unavailable !== undefined)(
      `${title}: after each of ${rounds} kills every sandbox exists once (seed ${seed})${reason}`,
      { timeout: 120_000 + rounds * 20_000 },
      async () => {
        const world: World =
          program === undefined ? given : { oci: { program: program === 'runc' ? program : gvisor, images } };
        const { folder } = await testOptions();
        const random = generator(seed);
        const told = new Told();
        // Every process may have been removed again before its kill: another round follows.
        const isEnough = (round: number) => round >= rounds && (told.checked > 0 || round > 3 * rounds);
        for (let round = 0; !isEnough(round); round += 1) {
          await liveAndDie(
            [folder, JSON.stringify(world), name, `${seed + round}`, `${round}`],
            // Some die while they begin, the others when something runs that must not be lost.
            { from: round % 2 === 0 ? 'spawned' : 'anything', ms: random() * longestLifeMs },
            told,
          );
          kills += 1;
          const sandboxes = await hostIn(folder, world, name);
          await told.check(sandboxes, `round ${round}`);
          await sandboxes[Symbol.asyncDispose]();
        }
        console.log(`${title}: ${rounds} kills, ${told.checked} processes read to the end`);
        expect(told.made, 'sandboxes that were made').toBeGreaterThan(0);
        expect(told.checked, 'processes that were read to the end').toBeGreaterThan(0);
        const runtime = await runtimeIn(folder, world, name);
        const last = await hostIn(folder, world, name);
        const known = new Set((await last.all()).map(({ id }) => id));
        await reap([runtime], (id) => isOrphan('room', id) && !known.has(id));
        // A removal that was begun is finished in the background.
        await eventually(
          async () => (await runtime.traces()).every((id) => known.has(id)),
          'the end of what was being removed',
        );
        expect((await runtime.list()).map(({ id }) => id).sort()).toEqual([...known].sort());
        for (const { user, chat } of await last.all()) await last.of(user).remove(chat);
        await last[Symbol.asyncDispose]();
        expect(await runtime.list()).toEqual([]);
        await rm(folder, { recursive: true });
      },
    );
  }

  const missing = cases.flatMap(({ name, unavailable }) => (unavailable === undefined ? [] : [name]));
  it.skipIf(missing.length > 0)(
    `all together were at least ${fewestKills} kills${missing.length > 0 ? ` (skipped: no ${missing.join(', no ')})` : ''}`,
    () => expect(kills).toBeGreaterThanOrEqual(fewestKills),
  );
});

/** So long after the host has first said that. */
interface Death {
  readonly from: 'spawned' | 'anything';
  readonly ms: number;
}

async function liveAndDie(words: readonly string[], { from, ms }: Death, told: Told): Promise<void> {
  const host = spawn(process.execPath, [fixture('sandbox-host.ts'), ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(host, 'exit');
  const lines = createInterface(host.stdout);
  let begun: (() => void) | undefined;
  const first = new Promise<void>((resolve) => {
    begun = resolve;
  });
  lines.on('line', (line) => {
    const said: Action = JSON.parse(line);
    told.hear(said);
    if (from === 'anything' || said.action === from) begun?.();
  });
  const closed = once(lines, 'close');
  await Promise.race([first, exited]);
  await delay(ms);
  host.kill('SIGKILL');
  const [, signal] = await exited;
  await closed;
  expect(signal, 'the host ended by itself').toBe('SIGKILL');
}

/** Checks after a kill, based on the host's messages before it. */
interface Room {
  id: string | undefined;
  presence: 'there' | 'perhaps';
  /** The allowed contents: after an interrupted write, the old or the new. */
  readonly files: Map<string, readonly (string | undefined)[]>;
  readonly processes: Map<string, { readonly work: Work; cut: boolean }>;
}

class Told {
  checked = 0;
  made = 0;
  readonly #rooms = new Map<string, Room>();

  hear(said: Action): void {
    const key = JSON.stringify([said.user, said.chat]);
    const room = this.#rooms.get(key) ?? {
      id: undefined,
      presence: 'perhaps',
      files: new Map(),
      processes: new Map(),
    };
    this.#rooms.set(key, room);
    if (said.action === 'made') {
      this.made += 1;
      if (room.id !== undefined && room.id !== said.id) throw new Error(`${key} has become another sandbox`);
      room.id = said.id;
      room.presence = 'there';
    }
    if (said.action === 'writing')
      room.files.set(said.file, [...(room.files.get(said.file) ?? [undefined]), said.content]);
    if (said.action === 'written') room.files.set(said.file, [said.content]);
    if (said.action === 'spawned') room.processes.set(said.process, { work: said.work, cut: false });
    if (said.action === 'stopping') for (const process of room.processes.values()) process.cut = true;
    if (said.action === 'removing') room.presence = 'perhaps';
    if (said.action === 'removed') this.#rooms.delete(key);
  }

  async check(sandboxes: Sandboxes, when: string): Promise<void> {
    const all = new Map(
      (await sandboxes.all()).map((status) => [JSON.stringify([status.user, status.chat]), status]),
    );
    for (const [key, room] of this.#rooms) {
      const status = all.get(key);
      if (room.presence === 'there') expect(status?.id, `${when}: ${key}`).toBe(room.id);
      if (status === undefined) this.#rooms.delete(key);
      else await this.#checkRoom(sandboxes, room, status.user, status.chat, `${when}: ${key}`);
    }
    expect(
      [...all.values()].filter(({ state }) => state === 'unknown'),
      when,
    ).toEqual([]);
  }

  async #checkRoom(
    sandboxes: Sandboxes,
    room: Room,
    user: string,
    chat: string,
    where: string,
  ): Promise<void> {
    const sandbox = await sandboxes.of(user).getOrCreate(chat);
    room.presence = 'there';
    room.id = sandbox.id;
    for (const [file, contents] of room.files) {
      const found = await sandbox.files.readText(file).catch(() => undefined);
      expect(contents, `${where}: ${file}`).toContain(found);
      room.files.set(file, [found]);
    }
    await Promise.all(
      [...room.processes].map(async ([id, { work, cut }]) => {
        const whole = outputOf(work);
        if (cut) {
          const kept = [...sandbox.journals.open(id).read(0)]
            .map((event) => (event.type === 'stdout' ? Buffer.from(event.bytes).toString() : ''))
            .join('');
          expect(whole.startsWith(kept), `${where}: what was stopped had written something else`).toBe(true);
        } else {
          const { stdout, exit } = await events(await sandbox.attach(id));
          expect(
            stdout === whole,
            `${where}: process ${id} has ${stdout.length} of ${whole.length} bytes`,
          ).toBe(true);
          expect(exit, where).toMatchObject({ exitCode: work.code });
        }
        room.processes.delete(id);
        this.checked += 1;
      }),
    );
  }
}
