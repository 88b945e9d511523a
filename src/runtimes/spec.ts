import { GeodeError } from '../base/errors.ts';
import { checkLimits, defaultLimits, type Limits, type SoftLimit } from '../seams/limits.ts';
import { variableName } from '../seams/process.ts';
import type { Available, RuntimeName } from '../seams/runtime.ts';
import { type Grade, isAtLeast, type SandboxSpec } from '../seams/sandbox.ts';

const defaultLeaseMs = 60_000;
const longestEnvName = 256;
const largestEnv = 128 * 1024;

/** How long a guest waits for its first host; the sandbox's own lease starts when it is claimed. */
export const firstLeaseMs = 60_000;

/** Path of the workspace in every sandbox, on every runtime. */
export const workdir = '/workspace';
/** A link to the workdir at the path where programs written for other sandboxes look for files. */
export const usualHome = '/home/user';

/** A spec with all defaults filled in, where every field can be enforced. */
export interface CheckedSpec extends SandboxSpec {
  readonly limits: Limits;
  /** Limits that the guest enforces by counting. */
  readonly softLimits: readonly SoftLimit[];
  readonly env: Readonly<Record<string, string>>;
  readonly leaseMs: number;
}

/** Throws for any field that this runtime cannot enforce on this machine; nothing is ignored. */
export function checkSpec(runtime: RuntimeName, { capabilities }: Available, spec: SandboxSpec): CheckedSpec {
  const refuse = (field: string, why: string, hint?: string): never => {
    throw new GeodeError('cannot_enforce', `The ${runtime} runtime cannot enforce ${field}: ${why}.`, {
      ...(hint === undefined ? {} : { hint }),
      details: { runtime, field },
    });
  };
  const limits = checkLimits(spec.limits ?? {});
  const network = spec.network ?? 'none';
  if (network !== 'none' && network !== 'bridge') {
    refuse(
      'network',
      `"${network}" would give the sandbox the host's network`,
      'Use "none" (default) or "bridge".',
    );
  }
  if (spec.network !== undefined && !capabilities.networks.includes(network)) {
    refuse(
      'network',
      `"${network}" is not among what it offers (${capabilities.networks.join(', ') || 'nothing'})`,
    );
  }
  if (spec.image !== undefined && !capabilities.images)
    refuse('image', 'it runs the programs of the host, not an image');
  if ((spec.mounts ?? []).length > 0 && !capabilities.mounts)
    refuse('mounts', 'it has no file system of its own');
  if (spec.rootAccess && capabilities.users === 'never')
    refuse('rootAccess', 'everything in it runs as one user');
  for (const [field, can] of Object.entries({
    memoryBytes: capabilities.limits.memory,
    cpus: capabilities.limits.cpus,
    pids: capabilities.limits.pids,
    diskBytes: capabilities.limits.disk,
  })) {
    const wanted = limits[field as keyof Limits];
    if (wanted != null && !can)
      refuse(
        `limits.${field}`,
        'nothing on this machine can enforce that limit',
        'Set the limit to null, or choose another runtime.',
      );
  }
  const filled = fillLimits(limits, capabilities.limits);
  const values = { memory: filled.memoryBytes, pids: filled.pids };
  return {
    ...spec,
    env: checkEnv(spec.env ?? {}),
    limits: filled,
    softLimits: capabilities.softLimits.filter((name) => values[name] != null),
    leaseMs: checkLease(spec.leaseMs),
  };
}

/** The isolation grade that the room will really have, compared with the requested one. */
export function checkGrade(runtime: RuntimeName, grade: Grade, { minimumGrade = 'none' }: SandboxSpec): void {
  if (isAtLeast(grade, minimumGrade)) return;
  throw new GeodeError(
    'cannot_enforce',
    `The ${runtime} runtime cannot enforce minimumGrade: the sandbox would have grade "${grade}", but "${minimumGrade}" is required.`,
    { details: { runtime, field: 'minimumGrade' } },
  );
}

/** Defaults apply where they can be enforced; a runtime that declares "no limits" gets none by default. */
function fillLimits(limits: Limits, can: Available['capabilities']['limits']): Limits {
  return {
    memoryBytes:
      limits.memoryBytes !== undefined ? limits.memoryBytes : can.memory ? defaultLimits.memoryBytes : null,
    cpus: limits.cpus !== undefined ? limits.cpus : can.cpus ? defaultLimits.cpus : null,
    pids: limits.pids !== undefined ? limits.pids : can.pids ? defaultLimits.pids : null,
    openFiles: limits.openFiles !== undefined ? limits.openFiles : defaultLimits.openFiles,
    diskBytes: limits.diskBytes !== undefined ? limits.diskBytes : can.disk ? defaultLimits.diskBytes : null,
  };
}

export function checkEnv(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  let total = 0;
  for (const [name, value] of Object.entries(env)) {
    if (typeof value !== 'string') throw new GeodeError('invalid_input', `env.${name} is not text.`);
    total += name.length + value.length;
    if (!variableName.test(name) || name.length > longestEnvName) {
      throw new GeodeError(
        'invalid_input',
        `env has the name ${JSON.stringify(name)}, which shells do not accept.`,
      );
    }
    if (value.includes('\0')) throw new GeodeError('invalid_input', `env.${name} contains a NUL byte.`);
  }
  if (total > largestEnv)
    throw new GeodeError('too_large', `env has ${total} bytes; the maximum is ${largestEnv}.`);
  return env;
}

function checkLease(leaseMs: number | null | undefined): number {
  if (leaseMs === null) return 0;
  if (leaseMs === undefined) return defaultLeaseMs;
  if (Number.isSafeInteger(leaseMs) && leaseMs >= 1_000) return leaseMs;
  throw new GeodeError(
    'invalid_input',
    `leaseMs is ${leaseMs}, but must be a whole number of at least 1000, or null.`,
  );
}
