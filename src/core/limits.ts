import { GeodeError } from './errors.ts';

/** What a sandbox may use. A field left out takes the default; `null` means "no limit". */
export interface Limits {
  readonly memoryBytes?: number | null;
  readonly cpus?: number | null;
  readonly pids?: number | null;
  readonly openFiles?: number | null;
  /** What the workspace may hold, as the size of its file system: a little of it goes to the file system itself. */
  readonly diskBytes?: number | null;
}

export const defaultLimits = {
  memoryBytes: 512 * 1024 ** 2,
  cpus: 1,
  pids: 256,
  openFiles: 4096,
  diskBytes: 10 * 1024 ** 3,
} as const satisfies Limits;

/** Docker refuses less, and a guest needs room to breathe. */
const smallestMemoryBytes = 16 * 1024 ** 2;
const smallestCpus = 0.01;
const smallestPids = 8;
const smallestOpenFiles = 64;
/** A file system needs some of it for itself. */
const smallestDiskBytes = 32 * 1024 ** 2;

const units: Readonly<Record<string, number>> = { b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };

/** "512m", "2g", "1.5g" or a number of bytes. Anything else is refused, never taken as zero. */
export function parseSize(value: string | number, field: string): number {
  const bytes = typeof value === 'number' ? value : sizeFromText(value);
  if (!Number.isFinite(bytes) || bytes <= 0 || !Number.isSafeInteger(Math.floor(bytes))) {
    throw refused(field, value, 'a size above zero such as "512m" or "2g" (units b, k, m, g, t)');
  }
  return Math.floor(bytes);
}

function sizeFromText(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(?:b|([kmgt])(?:i?b)?)?$/i.exec(text.trim());
  if (match === null) return Number.NaN;
  const bytes = Number(match[1]) * (units[(match[2] ?? 'b').toLowerCase()] ?? Number.NaN);
  return match[2] === undefined && !Number.isInteger(bytes) ? Number.NaN : bytes;
}

/** Every field in range, or a refusal that names it. */
export function checkLimits(limits: Limits): Limits {
  atLeast(limits.memoryBytes, smallestMemoryBytes, 'limits.memory', 'at least 16m');
  atLeast(limits.cpus, smallestCpus, 'limits.cpus', 'a number of CPUs of at least 0.01');
  atLeast(limits.pids, smallestPids, 'limits.pids', 'a whole number of at least 8');
  atLeast(limits.openFiles, smallestOpenFiles, 'limits.openFiles', 'a whole number of at least 64');
  atLeast(limits.diskBytes, smallestDiskBytes, 'limits.disk', 'at least 32m');
  for (const field of ['memoryBytes', 'pids', 'openFiles', 'diskBytes'] as const) {
    const value = limits[field];
    if (value != null && !Number.isSafeInteger(value))
      throw refused(`limits.${field}`, value, 'a whole number');
  }
  return limits;
}

/** Limits of which none is above those in `most`. A field that only `most` names keeps its default where that is lower. */
export function atMost(limits: Limits, most: Limits): Limits {
  const lower = (value: number | null | undefined, bound: number | null | undefined) =>
    value === undefined || bound == null ? value : value === null ? bound : Math.min(value, bound);
  const fields = Object.entries(limits) as [keyof Limits, number | null | undefined][];
  const lowered = Object.fromEntries(fields.map(([field, value]) => [field, lower(value, most[field])]));
  // Every runtime holds the number of open files to its default; the others are there when they can be held.
  const files = most.openFiles ?? defaultLimits.openFiles;
  return limits.openFiles === undefined && files < defaultLimits.openFiles
    ? { ...lowered, openFiles: files }
    : lowered;
}

function atLeast(value: number | null | undefined, smallest: number, field: string, wanted: string): void {
  if (value == null) return;
  if (!Number.isFinite(value) || value < smallest) throw refused(field, value, wanted);
}

function refused(field: string, value: unknown, wanted: string): GeodeError {
  return new GeodeError(
    'invalid_input',
    `${field} is ${JSON.stringify(value) ?? value}, but must be ${wanted}, or null for no limit.`,
    {
      details: { field },
    },
  );
}
