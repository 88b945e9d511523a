import { GeodeError } from '../base/errors.ts';

/** Resource limits of a sandbox. A missing field takes the default; `null` means "no limit". */
export interface Limits {
  readonly memoryBytes?: number | null;
  readonly cpus?: number | null;
  readonly pids?: number | null;
  readonly openFiles?: number | null;
  /** The size of the workspace's file system; the file system itself uses a little of it. */
  readonly diskBytes?: number | null;
}

export const defaultLimits = {
  memoryBytes: 512 * 1024 ** 2,
  cpus: 1,
  pids: 256,
  openFiles: 4096,
  diskBytes: 10 * 1024 ** 3,
} as const satisfies Limits;

/** The maximum for callers without the scope `admin`, unless the config sets another. */
export const defaultMostLimits = {
  memoryBytes: 4 * 1024 ** 3,
  cpus: 4,
  pids: 4096,
  openFiles: 65_536,
  diskBytes: 64 * 1024 ** 3,
} as const satisfies Limits;

/** Limits that the guest can enforce by counting, without a control group. */
export const softLimitNames = ['memory', 'pids'] as const;
export type SoftLimit = (typeof softLimitNames)[number];

const limitNames = ['memoryBytes', 'cpus', 'pids', 'openFiles', 'diskBytes'] as const;
type LimitName = (typeof limitNames)[number];

/**
 * Lower values do not work: Docker refuses less memory, the guest needs some of it, and a file system takes some of
 * its disk. Higher values do not exist: the kernel allows no more processes and open files, mkfs no larger disks.
 */
const bounds: Readonly<Record<LimitName, { least: number; most: number; whole: boolean; wanted: string }>> = {
  memoryBytes: { least: 16 * 1024 ** 2, most: 64 * 1024 ** 4, whole: true, wanted: '16m to 64t' },
  cpus: { least: 0.01, most: 4096, whole: false, wanted: 'a number of CPUs from 0.01 to 4096' },
  pids: { least: 8, most: 4_194_304, whole: true, wanted: 'a whole number from 8 to 4194304' },
  openFiles: { least: 64, most: 1_048_576, whole: true, wanted: 'a whole number from 64 to 1048576' },
  diskBytes: { least: 32 * 1024 ** 2, most: 8 * 1024 ** 4, whole: true, wanted: '32m to 8t' },
};

/** The format of limits in requests and options. */
const titles: Readonly<Record<LimitName, string>> = {
  memoryBytes: 'limits.memory',
  cpus: 'limits.cpus',
  pids: 'limits.pids',
  openFiles: 'limits.openFiles',
  diskBytes: 'limits.disk',
};

const units: Readonly<Record<string, number>> = { b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };

/** "512m", "2g", "1.5g" or a number of bytes. Any other text is refused, never read as zero. */
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

/** Returns the limits when every field is in range; throws `invalid_input` with the name of the first that is not. */
export function checkLimits(limits: Limits): Limits {
  for (const name of limitNames) {
    const value = limits[name];
    if (value == null) continue;
    const { least, most, whole, wanted } = bounds[name];
    if (!(value >= least && value <= most)) throw refused(titles[name], value, wanted);
    if (whole && !Number.isSafeInteger(value)) throw refused(titles[name], value, 'a whole number');
  }
  return limits;
}

/** Limits where none is above `most`. A field that only `most` names takes the lower of its default and `most`. */
export function atMost(limits: Limits, most: Limits): Limits {
  const lower = (value: number | null | undefined, bound: number | null | undefined) =>
    value === undefined || bound == null ? value : value === null ? bound : Math.min(value, bound);
  const fields = Object.entries(limits) as [keyof Limits, number | null | undefined][];
  const lowered = Object.fromEntries(fields.map(([field, value]) => [field, lower(value, most[field])]));
  // Every runtime enforces the number of open files. The defaults of the other limits apply where they can be
  // enforced.
  const files = most.openFiles ?? defaultLimits.openFiles;
  return limits.openFiles === undefined && files < defaultLimits.openFiles
    ? { ...lowered, openFiles: files }
    : lowered;
}

/**
 * Throws `forbidden` if a limit is above the maximum, or is lifted although there is a maximum. A missing limit takes
 * the operator's default.
 */
export function checkMostLimits(limits: Limits, most: Limits): void {
  for (const name of limitNames) {
    const [value, largest] = [limits[name], most[name]];
    if (value === undefined || largest == null) continue;
    if (value !== null && value <= largest) continue;
    const asked = value === null ? 'null, which means no limit' : String(value);
    throw new GeodeError(
      'forbidden',
      `${titles[name]} is ${asked}, but the maximum without the scope admin is ${largest}.`,
      {
        hint: 'Use a lower limit, use a key with the scope admin, or raise the maximum in the config: `geode config` lists sandbox.max_*.',
        details: { field: titles[name], most: largest },
      },
    );
  }
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
