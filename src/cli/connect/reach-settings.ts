/**
 * The few settings by which a command finds its host. Checking a whole config takes longer than most commands take, so
 * these are kept beside it, under a mark of all that they were made from; no value of a secret is among them.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Marks } from '../../config/marks.ts';
import { checkStateMark } from '../../machine/state-version.ts';
import { type CliContext, text } from '../command.ts';
import { program } from '../version.ts';

export interface ReachSettings {
  readonly stateDir: string;
  /** In seconds; 0: no host is started. */
  readonly linger: number;
  readonly marks: Marks;
}

type Asking = Pick<CliContext, 'loaded' | 'machine' | 'values'>;

/** Throws `state_newer` for the state of a newer Geode. */
export async function reachSettings(context: Asking): Promise<ReachSettings> {
  const settings = await currentSettings(context);
  checkStateMark(settings.stateDir);
  return settings;
}

async function currentSettings(context: Asking): Promise<ReachSettings> {
  const file = fileOf(context);
  const mark = markOf(context);
  const kept = keptIn(file, mark);
  if (kept !== undefined) return kept;
  const { config } = await context.loaded();
  const { marksOf } = await import('../../config/marks.ts');
  const settings = {
    stateDir: config.sandbox.state_dir,
    linger: config.sandbox.linger,
    marks: marksOf(config),
  };
  // A home that is not there is not made.
  if (existsSync(context.machine.home)) keep(file, { mark, settings });
  return settings;
}

/** The next command, or this one, checks the whole config again. */
export function forgetReachSettings(context: Asking): void {
  rmSync(fileOf(context), { force: true });
}

function fileOf({ machine }: Asking): string {
  return join(machine.cacheDir, 'reach.json');
}

/** Of everything that a config is made from. */
function markOf({ machine, values }: Asking): string {
  const { variable: _, ...facts } = machine;
  const path =
    text(values, 'config') ?? machine.overrides.GEODE_CONFIG ?? join(machine.configDir, 'geode.json');
  const made = [program, process.version, facts, process.cwd(), path, contentOf(path)];
  return fingerprint(JSON.stringify(made));
}

/** 64 bits of FNV-1a, twice over: enough to tell one's own settings apart, and `node:crypto` takes longer to load. */
function fingerprint(text: string): string {
  const half = (start: number) => {
    let hash = start;
    for (let index = 0; index < text.length; index += 1)
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    return (hash >>> 0).toString(16).padStart(8, '0');
  };
  return half(0x811c9dc5) + half(0x5bd1e995);
}

/** Null for an unreadable file: the check of the config reports the reason. */
function contentOf(path: string): string | null {
  try {
    return readFileSync(path, 'base64');
  } catch {
    return null;
  }
}

function keptIn(file: string, mark: string): ReachSettings | undefined {
  try {
    const kept: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isKept(kept) && kept.mark === mark ? kept.settings : undefined;
  } catch {
    return undefined;
  }
}

interface Kept {
  readonly mark: string;
  readonly settings: ReachSettings;
}

function isKept(kept: unknown): kept is Kept {
  return typeof kept === 'object' && kept !== null && 'mark' in kept && 'settings' in kept;
}

/** Where it cannot be kept, the next command checks the config again. */
function keep(file: string, kept: Kept): void {
  const own = `${file}.${process.pid}`;
  try {
    mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
    writeFileSync(own, JSON.stringify(kept), { mode: 0o600 });
    renameSync(own, file);
  } catch {}
}
