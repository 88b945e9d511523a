import { builtins } from './builtins.ts';
import type { Program } from './call.ts';
import { decoders } from './decoders.ts';
import { fetchers } from './fetchers.ts';
import { filePrograms } from './files.ts';
import { finders } from './finders.ts';
import { interpreterPrograms } from './interpreters.ts';
import { shells } from './shells.ts';
import { textPrograms } from './text.ts';
import { wrappers } from './wrappers.ts';

/**
 * Every program that the policy follows into. A program may stand in two tables: one looks at what it runs,
 * and `text` tells its output.
 */
const tables: readonly Readonly<Record<string, Program>>[] = [
  builtins,
  shells,
  wrappers,
  finders,
  fetchers,
  filePrograms,
  interpreterPrograms,
  decoders,
  textPrograms,
];

export const programs: ReadonlyMap<string, Program> = merge(tables);

function merge(all: readonly Readonly<Record<string, Program>>[]): Map<string, Program> {
  const merged = new Map<string, Program>();
  for (const table of all) {
    for (const [name, program] of Object.entries(table)) {
      const earlier = merged.get(name);
      merged.set(name, earlier === undefined ? program : (call) => earlier(call) ?? program(call));
    }
  }
  return merged;
}
