import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { RuntimeOptions } from './options.ts';

/** The id of this installation: several may share an engine or a kernel, and none may clean up after another. */
export function homeOf({ stateDir }: Pick<RuntimeOptions, 'stateDir'>): string {
  return createHash('sha256').update(`${hostname()}\0${stateDir}`).digest('hex').slice(0, 16);
}

/** The engine's name for a sandbox. Two installations may use the same id. */
export function containerName(options: Pick<RuntimeOptions, 'stateDir'>, id: string): string {
  return `geode-${homeOf(options)}-${id}`;
}
