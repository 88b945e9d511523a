import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Ledger } from '../../src/ledger/ledger.ts';
import { SandboxTable, sandboxChapter } from '../../src/sandboxes/sandbox-table.ts';
import type { Sandboxes } from '../../src/seams/persistent.ts';
import { type SandboxWorld, sandboxWorld } from '../../test/sandboxes/world.ts';
import { type Comparison, compare, contender, millisecondsOf, observed } from '../measure.ts';
import { atLeast, atMost, type Bench, type Findings, type Section, together } from '../section.ts';
import { whyNot } from './place.ts';

type Name = 'docker' | 'bubblewrap';

const idleCount = 200;
const openingAtOnce = 8;
const idleMs = 4_000;
const entries = 1_000;
const user = 'bench';

export const persistentSection: Section = {
  name: 'persistent',
  title: 'Sandboxes that stay',
  async run(bench) {
    const parts: Findings[] = [];
    for (const name of ['docker', 'bubblewrap'] as const) {
      const missing = whyNot(bench, name);
      parts.push(
        missing === undefined
          ? await inTurn(bench, name)
          : { comparisons: [], targets: [], leftOut: [missing] },
      );
    }
    const missing = whyNot(bench, 'bubblewrap');
    if (missing === undefined) parts.push(await many(bench));
    return together(...parts);
  },
};

/** One sandbox after the other: taken by a new chat, asked for again, stopped and started. */
async function inTurn(bench: Bench, name: Name): Promise<Findings> {
  await using world = await worldOf(bench, name);
  const warm = await world.host({ pool: { floor: 1, ceiling: 2 } });
  const taken = await claimed(bench, name, world, warm);
  const mine = warm.of(user);
  const sandbox = await mine.getOrCreate('stays');
  await sandbox.files.write('file', 'content');
  const again = await compare(
    {
      name: `the sandbox of a chat that runs, in ${name}`,
      unit: 'ms',
      rounds: bench.rounds(200),
      ours: contender('Geode', () => millisecondsOf(() => mine.getOrCreate('stays'))),
      others: [],
    },
    bench.signal,
  );
  const stops: number[] = [];
  const starts: number[] = [];
  for (let round = 0; round < bench.rounds(20); round += 1) {
    bench.signal.throwIfAborted();
    stops.push(await millisecondsOf(() => mine.stop('stays')));
    starts.push(await millisecondsOf(() => mine.start('stays')));
  }
  return {
    comparisons: [
      taken,
      again,
      observed(`stop, in ${name}`, 'ms', 'Geode', stops),
      observed(`start again, in ${name}`, 'ms', 'Geode', starts),
    ],
    targets: [atMost(`claim of a ready sandbox (${name})`, 10, 'ms', taken.ours.p50)],
    leftOut: [],
  };
}

/** A new chat, with a blank sandbox ready and without. Making the next one ready is not part of it. */
async function claimed(
  bench: Bench,
  name: Name,
  world: SandboxWorld,
  sandboxes: Sandboxes,
): Promise<Comparison> {
  const mine = sandboxes.of(user);
  const ready = async () => {
    await sandboxes.warm(1);
    const chat = randomBytes(6).toString('hex');
    const ms = await millisecondsOf(() => mine.getOrCreate(chat));
    await mine.remove(chat);
    return ms;
  };
  const cold = async () => {
    const began = performance.now();
    await using _sandbox = await world.runtime.open({});
    return performance.now() - began;
  };
  return compare(
    {
      name: `the sandbox of a new chat, in ${name}`,
      unit: 'ms',
      rounds: bench.rounds(40),
      ours: contender('claimed from the pool', ready),
      others: [contender('made when it is asked for', cold)],
    },
    bench.signal,
  );
}

/** Many at once: what each costs while nothing goes on, and what looking at all of them costs. */
async function many(bench: Bench): Promise<Findings> {
  await using world = await worldOf(bench, 'bubblewrap');
  const sandboxes = await world.host({
    most: { most: idleCount, mostPerUser: idleCount },
    policy: { idleMs: 600_000, removeMs: 6_000_000 },
  });
  const mine = sandboxes.of(user);
  const before = await availableMb();
  for (let count = 0; count < idleCount; count += openingAtOnce) {
    bench.signal.throwIfAborted();
    const chats = Array.from(
      { length: Math.min(openingAtOnce, idleCount - count) },
      (_, index) => count + index,
    );
    await Promise.all(chats.map((chat) => mine.getOrCreate(`chat ${chat}`)));
  }
  await delay(idleMs, undefined, { signal: bench.signal });
  const each = Math.max(before - (await availableMb()), 0) / idleCount;
  const running = (await mine.list()).filter(({ state }) => state === 'running').length;
  const sandbox = await mine.getOrCreate('chat 0');
  const exec = await compare(
    {
      name: `\`true\` in one of ${idleCount}`,
      unit: 'ms',
      rounds: bench.rounds(100),
      ours: contender('Geode', () => millisecondsOf(() => sandbox.exec({ argv: ['true'] }))),
      others: [],
    },
    bench.signal,
  );
  using ledger = new Ledger(join(world.options.stateDir, 'ledger.db'), [sandboxChapter]);
  const table = new SandboxTable(ledger);
  for (let index = running; index < entries; index += 1) {
    const [id, chat, now] = [`stopped-${index}`, `stopped ${index}`, Date.now()];
    table.add({ id, user, chat, runtime: 'bubblewrap', spec: {}, labels: {}, createdAt: now, activeAt: now });
  }
  const sweeps: number[] = [];
  for (let round = 0; round < bench.rounds(50); round += 1)
    sweeps.push(await millisecondsOf(() => sandboxes.sweep()));
  for (let index = running; index < entries; index += 1) table.remove(`stopped-${index}`);
  return {
    comparisons: [
      observed('memory of the machine for an idle sandbox', 'MB', `${idleCount} at once, bubblewrap`, [each]),
      exec,
      observed('a sweep', 'ms', `${entries} in the ledger, ${running} running`, sweeps),
    ],
    targets: [atLeast('idle sandboxes that stay', idleCount, 'sandboxes', running)],
    leftOut: [],
  };
}

function worldOf({ engines: { docker } }: Bench, name: Name): Promise<SandboxWorld> {
  return sandboxWorld(name, docker.available ? { dockerSocket: docker.socket } : {});
}

async function availableMb(): Promise<number> {
  const text = await readFile('/proc/meminfo', 'utf8');
  return (Number(/^MemAvailable:\s+(\d+) kB$/m.exec(text)?.[1]) * 1024) / 1e6;
}
