import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRunning, type ProcessMark } from './process-mark.ts';

/** The host process of a folder's sandboxes, from a file next to its lock. */
export interface HostFacts extends ProcessMark {
  /** In ms since 1970. */
  readonly since: number;
  /** Left out by a process that serves only itself. */
  readonly serves?: {
    /** The command that a person started. */
    readonly as: string;
    /** The socket of its API. */
    readonly api: string;
    /** Version of its program. */
    readonly program?: string;
    /** A hash of each setting that it uses. */
    readonly settings?: Readonly<Record<string, string>>;
  };
}

export function holderFile(folder: string): string {
  return join(folder, 'host.json');
}

/**
 * Undefined between taking the lock and writing the name. A process that released the lock without ending is still
 * named.
 */
export function namedHost(folder: string): HostFacts | undefined {
  try {
    const facts: unknown = JSON.parse(readFileSync(holderFile(folder), 'utf8'));
    return isHostFacts(facts) && isRunning(facts) ? facts : undefined;
  } catch {
    return undefined;
  }
}

/** By hand: every command reads this first, and a schema would take longer to load than everything else. */
function isHostFacts(facts: unknown): facts is HostFacts {
  if (typeof facts !== 'object' || facts === null) return false;
  const { pid, start, since, serves }: Partial<Record<keyof HostFacts, unknown>> = facts;
  const isNamed =
    typeof pid === 'number' && pid > 0 && typeof start === 'string' && typeof since === 'number';
  if (!isNamed || serves === undefined) return isNamed;
  if (typeof serves !== 'object' || serves === null) return false;
  return 'api' in serves && typeof serves.api === 'string' && 'as' in serves && typeof serves.as === 'string';
}
