/**
 * Builds the dashboard into dashboard/dist: `npm run dashboard`. Nothing is built when nothing changed. The build fails
 * when a part that a browser loads grows beyond its budget.
 */
import { createHash, randomBytes } from 'node:crypto';
import { globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { z } from 'zod';
import { recordPackages } from './bundled-packages.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'dashboard');
const dist = join(folder, 'dist');
const record = 'fingerprint.txt';

/** Maximum kB after gzip of the files that a part loads in addition to the start page. */
const budgets = { start: 150, style: 15, terminal: 130, editor: 200, graph: 25, markdown: 35 } as const;
type Part = keyof typeof budgets;

const entries: Readonly<Record<Exclude<Part, 'style'>, string>> = {
  start: 'index.html',
  terminal: 'src/heavy/terminal-screen.tsx',
  editor: 'src/heavy/code-editor.tsx',
  graph: 'src/heavy/usage-graph.tsx',
  markdown: 'src/heavy/markdown-view.tsx',
};

const manifestSchema = z.record(
  z.string(),
  z.object({
    file: z.string(),
    imports: z.array(z.string()).default([]),
    css: z.array(z.string()).default([]),
  }),
);
type Manifest = z.infer<typeof manifestSchema>;

/** Brings dashboard/dist up to date. Returns true if it was rebuilt. */
export async function buildDashboard(): Promise<boolean> {
  const fingerprint = fingerprintOf();
  if (recorded() === fingerprint) return false;
  const { build } = await import('vite');
  // Two builds at once each have a folder of their own; the last one stays.
  const made = `${dist}.${randomBytes(6).toString('hex')}`;
  // The build asks for no other sign of whether it is for people or for developers; a test run has its own.
  const { NODE_ENV } = process.env;
  process.env.NODE_ENV = 'production';
  try {
    await build({
      configFile: join(folder, 'vite.config.ts'),
      build: { outDir: made, emptyOutDir: true },
      plugins: [recordPackages(sources())],
    });
    checkBudgets(made);
    writeFileSync(join(made, record), fingerprint);
    replace(made);
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
    rmSync(made, { recursive: true, force: true });
  }
  return true;
}

function replace(made: string): void {
  const old = `${dist}.${randomBytes(6).toString('hex')}`;
  try {
    renameSync(dist, old);
  } catch {
    // The file did not exist.
  }
  try {
    renameSync(made, dist);
  } catch (error) {
    // Another build was first.
    if (recorded() === undefined) throw error;
  }
  rmSync(old, { recursive: true, force: true });
}

/** The size of each part, by what the manifest says that it loads. */
export function sizesIn(built: string): Readonly<Record<Part, number>> {
  const manifest = manifestSchema.parse(JSON.parse(readFileSync(join(built, '.vite/manifest.json'), 'utf8')));
  const start = filesOf(manifest, entries.start);
  const beside = (entry: string) => filesOf(manifest, entry).filter((file) => !start.includes(file));
  const size = (files: readonly string[]) =>
    files.reduce((sum, file) => sum + gzipSync(readFileSync(join(built, file))).length, 0) / 1000;
  const isStyle = (file: string) => file.endsWith('.css');
  return {
    start: size(start.filter((file) => !isStyle(file))),
    style: size(start.filter(isStyle)),
    terminal: size(beside(entries.terminal)),
    editor: size(beside(entries.editor)),
    graph: size(beside(entries.graph)),
    markdown: size(beside(entries.markdown)),
  };
}

function filesOf(manifest: Manifest, entry: string, seen = new Set<string>()): string[] {
  const found = manifest[entry];
  if (found === undefined) throw new Error(`The dashboard has no part ${entry}.`);
  if (seen.has(entry)) return [];
  seen.add(entry);
  return [found.file, ...found.css, ...found.imports.flatMap((each) => filesOf(manifest, each, seen))];
}

function checkBudgets(built: string): void {
  const sizes = sizesIn(built);
  const over = Object.entries(budgets).filter(([part, most]) => sizes[part as Part] > most);
  if (over.length === 0) return;
  const lines = over.map(([part, most]) => `${part}: ${sizes[part as Part].toFixed(1)} kB, at most ${most}`);
  throw new Error(`The dashboard is too large.\n${lines.join('\n')}`);
}

function sources(): string[] {
  return globSync(['dashboard/src/**/*', 'dashboard/*.*', 'src/{base,client,contract,seams}/**/*.ts'], {
    cwd: root,
  });
}

function fingerprintOf(): string {
  const hash = createHash('sha256');
  for (const file of [
    ...sources(),
    'package-lock.json',
    'scripts/build-dashboard.ts',
    'scripts/bundled-packages.ts',
  ].sort())
    if (/\.\w+$/.test(file))
      hash
        .update(`${file}\0`)
        .update(readFileSync(join(root, file)))
        .update('\0');
  return hash.digest('hex');
}

function recorded(): string | undefined {
  try {
    return readFileSync(join(dist, record), 'utf8');
  } catch {
    return undefined;
  }
}

if (import.meta.main) {
  try {
    const wasBuilt = await buildDashboard();
    if (process.argv.includes('--sizes') || wasBuilt)
      for (const [part, size] of Object.entries(sizesIn(dist)))
        console.log(`dashboard ${part}: ${size.toFixed(1)} kB of ${budgets[part as Part]} (gzip)`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
