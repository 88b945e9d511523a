import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const path = (name: string) => join(root, 'src/cli', name);

/** All modules loaded with a file, itself included: its static imports and theirs, without types. */
function loadedBy(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const source = readFileSync(file, 'utf8');
  const imports = /^(?:import|export) (?!type\b)[^';]*?from '([^']+)'/gm;
  for (const [, from = ''] of source.matchAll(imports)) {
    if (!from.startsWith('.')) seen.add(from);
    else if (from.endsWith('.ts')) loadedBy(join(dirname(file), from), seen);
  }
  return seen;
}

describe('modules that a command loads', () => {
  it('include the list of commands for --help, but no command', () => {
    const loaded = [...loadedBy(path('main.ts'))].map((file) => relative(root, file));
    expect(loaded.filter((file) => /^src\/(?!cli|machine\/machine)/.test(file))).toEqual([]);
    expect(loaded.filter((file) => file.includes('commands/'))).toEqual([]);
  });

  it.each([
    'run',
    'exec',
    'shell',
    'sandbox/exec',
    'sandbox/create',
    'sandbox/cp',
    'sandbox/ps',
    'secrets/ls',
  ])('include no schema, server or model library for %s', (name) => {
    const loaded = [...loadedBy(path('perform.ts')), ...loadedBy(path(`commands/${name}.ts`))];
    const heavy = /^(zod|ws|hono|ai|pino|@.*)(\/|$)|\/src\/(host|api)\//;
    expect(loaded.filter((file) => heavy.test(file))).toEqual([]);
  });
});
