import { join } from 'node:path';
import type { CliConfig } from './command.ts';

export function keysPath({ dataDir }: CliConfig): string {
  return join(dataDir, 'keys.db');
}

export function memoryPath({ dataDir }: CliConfig): string {
  return join(dataDir, 'memory.db');
}
