/** Looks at each part of a running host, in the time of a request: nothing is started and nothing is changed. */
import { statfs } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cancel } from '../base/cancel.ts';
import { reasonOf } from '../base/errors.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Runs } from '../runs/index.ts';
import type { Backups } from '../seams/backups.ts';
import type { Chats } from '../seams/chat.ts';
import type { MachineCheck } from '../seams/doctor.ts';
import type { HostStatus } from '../seams/host-status.ts';
import type { MemoryStore } from '../seams/memory.ts';
import type { Sandboxes } from '../seams/persistent.ts';
import type { Geode } from './geode.ts';

const gigabyte = 1024 ** 3;
/** Below the first, sandboxes and backups fail; below the second, they soon do. */
const leastFreeBytes = gigabyte / 4;
const littleFreeBytes = 2 * gigabyte;
const timerMs = 20;
/** A host that is this late answers nobody in time. */
const lateMs = 1_000;
const dayMs = 86_400_000;

export interface HostStatusParts {
  readonly loaded: LoadedConfig;
  readonly version: string;
  readonly app: Pick<Geode, 'runtime'>;
  readonly ledger: Ledger;
  readonly sandboxes: Sandboxes;
  readonly runs: Runs;
  readonly memory: Pick<MemoryStore, 'health'>;
  readonly chats: Chats;
  readonly backups: Backups;
}

export async function hostStatus(parts: HostStatusParts, { signal }: Cancel = {}): Promise<HostStatus> {
  const { ledger, runs, memory, sandboxes } = parts;
  const { pending, ...health } = await memory.health();
  const began = performance.now();
  await delay(timerMs);
  const delayMs = Math.max(0, Math.round(performance.now() - began - timerMs));
  const checks = await Promise.all([
    check('ledger', async () => ledgerCheck(ledger)),
    check('memory', async () => memoryCheck(health)),
    check('runtime', async () => ok(`${(await parts.app.runtime()).name}, for new sandboxes`)),
    check('sandboxes', async () => sandboxCheck(await countStates(sandboxes, signal))),
    check('disk', () => diskCheck(parts.loaded.config.sandbox.state_dir)),
    check('channels', async () => channelCheck(parts.chats)),
    check('backups', () => backupCheck(parts)),
    check('timers', async () => timerCheck(delayMs)),
  ]);
  const { running, waiting } = runs.metrics();
  const isImpaired = checks.some(({ state }) => state === 'problem');
  return {
    state: isImpaired ? 'impaired' : 'healthy',
    version: parts.version,
    pid: process.pid,
    startedAt: Math.round(Date.now() - process.uptime() * 1000),
    checks,
    work: {
      runs: { running, waiting },
      turns: count(ledger, 'agent_turns', 'ended_at IS NULL') ?? 0,
      sandboxes: await countStates(sandboxes, signal).catch(() => ({})),
      messages: count(ledger, 'bus_inbox', "state IN ('waiting', 'running')"),
      approvals: count(ledger, 'approvals', "state = 'open'") ?? 0,
      unindexed: pending,
    },
    memoryBytes: process.memoryUsage.rss(),
    delayMs,
  };
}

type Found = Omit<MachineCheck, 'name'>;

const ok = (found: string): Found => ({ state: 'ok', found });

async function check(name: string, look: () => Promise<Found>): Promise<MachineCheck> {
  try {
    return { name, ...(await look()) };
  } catch (error) {
    return {
      name,
      state: 'problem',
      found: reasonOf(error),
      fix: 'See the log of the host, and run geode doctor.',
    };
  }
}

function ledgerCheck(ledger: Ledger): Found {
  ledger.read((sql) => sql.get`SELECT 1`);
  return ok('readable');
}

function memoryCheck({ state, parts }: Omit<Awaited<ReturnType<MemoryStore['health']>>, 'pending'>): Found {
  if (state === 'up') return ok('searches by words and meaning');
  const bad = parts.filter((part) => part.state !== 'up').map(({ name }) => name);
  const found = `${state}: ${bad.join(', ')}`;
  return { state: state === 'down' ? 'problem' : 'warning', found, fix: 'See the parts: geode memory stats' };
}

function sandboxCheck(states: Readonly<Record<string, number>>): Found {
  const unknown = states.unknown ?? 0;
  if (unknown === 0) return ok(`${states.running ?? 0} running`);
  return {
    state: 'warning',
    found: `${unknown} in an unknown state: their runtime or guest does not answer`,
    fix: 'See which: geode sandbox ls',
  };
}

async function diskCheck(stateDir: string): Promise<Found> {
  const { bavail, bsize } = await statfs(stateDir);
  const free = bavail * bsize;
  const found = `${(free / gigabyte).toFixed(1)} GB free for the state`;
  if (free >= littleFreeBytes) return ok(found);
  const fix = 'Free space, or remove sandboxes: geode sandbox ls, geode sandbox rm NAME';
  return { state: free < leastFreeBytes ? 'problem' : 'warning', found, fix };
}

function channelCheck(chats: Chats): Found {
  const all = chats.channels();
  const deaf = all.filter(({ state }) => state === 'deaf');
  if (deaf.length === 0) return ok(all.length === 0 ? 'none configured' : `${all.length} configured`);
  const found = deaf.map(({ channel, lastError }) => `${channel}: ${lastError ?? 'no messages come in'}`);
  return { state: 'problem', found: found.join('; '), fix: 'See each channel: geode status' };
}

async function backupCheck({ backups, loaded }: HostStatusParts): Promise<Found> {
  const [newest] = await backups.list();
  const { every } = loaded.config.backup;
  const age = newest === undefined ? undefined : Date.now() - Date.parse(newest.madeAt);
  const found = age === undefined ? 'none' : `the newest is ${(age / dayMs).toFixed(1)} days old`;
  // A schedule may be late by one period, as after a night without power.
  if (every === null || (age !== undefined && age < 2 * every * 1000)) return ok(found);
  return {
    state: 'warning',
    found: `${found}, and the schedule wants more`,
    fix: 'See the log of the host.',
  };
}

function timerCheck(delayMs: number): Found {
  const found = `${delayMs} ms late`;
  if (delayMs < lateMs) return ok(found);
  return { state: 'warning', found, fix: 'The machine or the host is busy: see geode sandbox stats' };
}

async function countStates(
  sandboxes: Sandboxes,
  signal: AbortSignal | undefined,
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const { state } of await sandboxes.all({ signal })) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}

/** Null if this host has not opened the part that makes the table. */
function count(ledger: Ledger, table: string, where: string): number | null {
  return ledger.read((sql) => {
    if (sql.get`SELECT 1 FROM sqlite_master WHERE name = ${table}` === undefined) return null;
    return Number(sql.prepared(`SELECT count(*) AS rows FROM ${table} WHERE ${where}`).get()?.rows ?? 0);
  });
}
