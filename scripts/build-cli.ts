/**
 * Builds build/cli: the commands that people type most in one file, which Node loads in a few milliseconds where the
 * modules themselves take tens (docs/decisions/0702). `bin/geode.js` uses it only while it is as new as its sources.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';
import { z } from 'zod';

/** Commands that load no schema and no server: `test/cli/light-commands.test.ts` looks at what they load. */
const commands = [
  'run',
  'exec',
  'shell',
  'sandbox create',
  'sandbox exec',
  'sandbox ls',
  'sandbox ps',
  'memory search',
];
/** Arguments that `main.ts` answers by itself. */
const answers = ['--help', '-h', 'help', '--version', '-V', 'version'];

const contentsSchema = z.object({
  main: z.string(),
  commands: z.array(z.string()),
  /** Path, size and time of the last change. Empty in a package, whose files do not change. */
  sources: z.array(z.tuple([z.string(), z.number(), z.number()])),
});
type Contents = z.infer<typeof contentsSchema>;

const root = fileURLToPath(new URL('..', import.meta.url));
const entry = join(root, 'src/cli/main.ts');

/** Brings build/cli of a clone up to date. Returns true if it was rebuilt. */
export async function buildCli(): Promise<boolean> {
  const folder = join(root, 'build/cli');
  const before = recorded(folder);
  if (before !== undefined && isFresh(before)) return false;
  const began = Date.now();
  const { code, modules } = await bundle((source) => source);
  const sources = ['scripts/build-cli.ts', ...modules].map(stateOf);
  // Changed while it was built: nobody knows which state was taken.
  if (sources.some(([, , changed]) => changed >= began)) return false;
  write(folder, code, { commands: [...answers, ...commands], sources });
  return true;
}

/**
 * The same for a package, where the modules are compiled and in `dist`. Returns the sources that it loads from there.
 */
export async function bundleCommands(folder: string): Promise<string[]> {
  const { code, others } = await bundle((source) =>
    source.replace(/^src\//, 'dist/').replace(/\.ts$/, '.js'),
  );
  write(join(folder, 'build/cli'), code, { commands: [...answers, ...commands], sources: [] });
  return others;
}

/** `placeOf` is where a module of these sources will be found, both from the folder that holds `build`. */
async function bundle(
  placeOf: (source: string) => string,
): Promise<{ code: string; modules: string[]; others: string[] }> {
  const outside = new Set<string>();
  const { build } = await import('vite');
  const built = await build({
    configFile: false,
    logLevel: 'error',
    root,
    build: {
      ssr: entry,
      write: false,
      target: 'node24',
      // CommonJS starts faster, most of all where it imports a module of Node itself.
      rollupOptions: { output: { format: 'cjs', codeSplitting: false } },
    },
    ssr: { noExternal: true },
    plugins: [otherModulesStay(placeOf, outside)],
  });
  const [chunk, ...others] = 'output' in built ? built.output : [];
  if (chunk?.type !== 'chunk' || others.length > 0) throw new Error('The command line is not one file.');
  const modules = chunk.moduleIds.filter((id) => id.startsWith(root)).map((id) => relative(root, id));
  return { code: chunk.code, modules, others: [...outside] };
}

/** Modules that few commands import later are not bundled: they are loaded from their place, next to their files. */
function otherModulesStay(placeOf: (source: string) => string, others: Set<string>): Plugin {
  const bundled = new Set(
    commands.map((name) => resolve(dirname(entry), 'commands', name.replace(' ', '/'))),
  );
  const fromBundle = (path: string) => `../../${placeOf(relative(root, path))}`;
  return {
    name: 'geode-other-modules-stay',
    enforce: 'pre',
    resolveDynamicImport(specifier, importer) {
      if (typeof specifier !== 'string' || importer === undefined || !specifier.startsWith('.')) return null;
      const path = resolve(dirname(importer), specifier);
      if (importer === entry || bundled.has(path.replace(/\.ts$/, ''))) return null;
      others.add(relative(root, path));
      return { id: fromBundle(path), external: true };
    },
    transform(code, id) {
      const url = `require('node:url').pathToFileURL(require('node:path').join(__dirname, ${JSON.stringify(fromBundle(id))})).href`;
      return code.replaceAll('import.meta.url', url);
    },
  };
}

function stateOf(path: string): Contents['sources'][number] {
  // The time of the last change, unlike that of the last write, cannot be set back.
  const { size, ctimeMs } = statSync(join(root, path));
  return [path, size, ctimeMs];
}

function isFresh({ sources }: Contents): boolean {
  try {
    return sources.every((source) => stateOf(source[0]).every((value, index) => value === source[index]));
  } catch {
    return false;
  }
}

function recorded(folder: string): Contents | undefined {
  try {
    return contentsSchema.parse(JSON.parse(readFileSync(join(folder, 'contents.json'), 'utf8')));
  } catch {
    return undefined;
  }
}

/** The name says what is in it, and the list comes last: nobody takes one for the other. */
function write(folder: string, code: string, contents: Omit<Contents, 'main'>): void {
  mkdirSync(folder, { recursive: true });
  const before = recorded(folder)?.main;
  const main = `main-${createHash('sha256').update(code).digest('hex').slice(0, 16)}.cjs`;
  replace(join(folder, main), code);
  replace(join(folder, 'contents.json'), JSON.stringify({ main, ...contents }));
  // A command that is just starting may still want the last one.
  for (const name of readdirSync(folder))
    if (name.endsWith('.cjs') && name !== main && name !== before) rmSync(join(folder, name));
}

function replace(path: string, text: string): void {
  const own = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(own, text);
  renameSync(own, path);
}

if (import.meta.main) await buildCli();
