import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { journalFiles } from '../../src/journals/journal-files.ts';
import { journalPolicy, pieceAt } from './kill-rounds.ts';

const rounds = Number(process.env.GEODE_KILL_ROUNDS ?? 15);
const seed = Number(process.env.GEODE_SEED ?? Date.now() % 100_000);

it(
  `PROC-2: kill -9 of a writer at any moment: ${rounds} rounds, GEODE_SEED=${seed}`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'geode-journals-'));
    try {
      const written = new Map<string, number>();
      const isRotated = () => Math.max(0, ...written.values()) > journalPolicy.keepBytes;
      // On a slow machine the writer needs more of them until a journal has lost its middle.
      for (let round = 0; round < rounds || (!isRotated() && round < 10 * rounds); round += 1) {
        await writeAndKill(folder, round, written);
        check(folder, written);
      }
      expect(isRotated()).toBe(true);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  120_000 + rounds * 20_000,
);

async function writeAndKill(folder: string, round: number, written: Map<string, number>): Promise<void> {
  const script = new URL('../fixtures/journal-writer.ts', import.meta.url).pathname;
  const last = lastOf(written)?.slice(1) ?? '0';
  const child = spawn(process.execPath, [script, folder, String(round), String(seed), last], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    const [id = '', length] = line.split(' ');
    written.set(id, Number(length));
  });
  const ended = Promise.all([once(child, 'exit'), once(lines, 'close')]);
  await once(lines, 'line');
  // A different moment in each round, the same in each run with this seed.
  await delay((seed * 7919 + round * 104_729) % 97);
  child.kill('SIGKILL');
  await ended;
}

/** Every kept byte is at its place once, what is missing is stated, and nothing that was written is forgotten. */
function check(folder: string, written: ReadonlyMap<string, number>): void {
  const journals = journalFiles(folder, journalPolicy);
  const last = lastOf(written);
  // Opening one whose exit the writer had no time to mark makes the oldest go.
  for (const id of idsIn(folder)) journals.open(id);
  const ids = idsIn(folder);
  expect(ids.length).toBeLessThanOrEqual(journalPolicy.keepFinished + 2);
  expect(ids).toContain(last);
  for (const id of ids) {
    const journal = journals.open(id);
    expect(journal.length).toBeGreaterThanOrEqual(written.get(id) ?? 0);
    if (Number(id.slice(1)) < Number(last?.slice(1))) expect(journal.exit).toBeDefined();
    let next = 0;
    let lost = 0;
    for (const event of journal.read(0)) {
      if (event.type === 'exit') continue;
      expect(event.offset).toBe(next);
      if (event.type === 'output-lost') lost += event.length;
      else if (!pieceAt(next, event.bytes.length).equals(event.bytes))
        throw new Error(`Wrong bytes at ${next} of ${id}.`);
      next += event.type === 'output-lost' ? event.length : event.bytes.length;
    }
    expect(next).toBe(journal.length);
    expect(next - lost).toBeGreaterThanOrEqual(Math.min(journal.length, journalPolicy.keepBytes * 0.7));
  }
  journals.close();
}

const lastOf = (written: ReadonlyMap<string, number>) => [...written.keys()].at(-1);

const idsIn = (folder: string) => [...new Set(readdirSync(folder).map((name) => name.split('.')[0] ?? ''))];
