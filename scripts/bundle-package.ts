/**
 * Bundles the package that people install: the compiled program and all packages that it uses, in `dist`. A module that
 * something outside names (an export, a worker, a command of build/cli) is a file at the place of its source; the rest
 * is in `dist/chunks`. Paths that a module builds from its own URL lead where they lead in a clone.
 */
import { cpSync, globSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';
import { packagesFile, readPackages, recordPackages } from './bundled-packages.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Modules of packages whose work Geode does by itself or never asks for; each brings a package with native code. */
const leftOut: Readonly<Record<string, string>> = {
  'node_modules/docker-modem/lib/ssh.js': 'Geode runs the ssh of the system.',
  'node_modules/dockerode/lib/session.js': 'Geode builds images without BuildKit.',
  'node_modules/dockerode/lib/buildkit.js': 'Geode builds images without BuildKit.',
};
/** Optional packages that are loaded where somebody installed them. */
const external = [
  'onnxruntime-node',
  'pg-native',
  'bufferutil',
  'utf-8-validate',
  'zlib-sync',
  '@napi-rs/canvas',
];

/**
 * `sources` become files of their own below `dist`. Returns the folders of the packages that went in. `plugins` come
 * first, for a program with changed sources.
 */
export async function bundleInto(
  dist: string,
  sources: readonly string[],
  plugins: readonly Plugin[] = [],
): Promise<string[]> {
  const { build } = await import('vite');
  const assets = new Set<string>();
  await build({
    configFile: false,
    logLevel: 'error',
    root,
    build: {
      ssr: true,
      outDir: dist,
      emptyOutDir: false,
      copyPublicDir: false,
      target: 'node24',
      rollupOptions: {
        input: Object.fromEntries(
          [...sources, ...workers()].map((path) => [placeOf(path).replace(/\.js$/, ''), path]),
        ),
        external,
        output: { entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' },
      },
    },
    ssr: { noExternal: true, external },
    plugins: [...plugins, withoutModules(), withOwnPlaces(assets), recordPackages()],
  });
  copyAssets(dist, assets);
  const record = join(dist, packagesFile);
  const packages = readPackages(record);
  rmSync(dirname(record), { recursive: true });
  return [...packages, ...[...assets].map((file) => `node_modules/${packageOf(file)}`)];
}

function packageOf(file: string): string {
  return file.split('/', file.startsWith('@') ? 2 : 1).join('/');
}

/** Modules that run in a thread or a process of their own: their files are named in a URL. */
function workers(): string[] {
  return globSync('src/**/*.ts', { cwd: root }).flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(ownModule)].map(([, path = '']) =>
      join(dirname(file), `${path}.ts`),
    ),
  );
}

const ownModule = /new URL\(\s*'(\.[^']+)\.ts', import\.meta\.url/g;
const packageFile = /import\.meta\.resolve\('([^']+)'\)/g;

/** The path below `dist` of a source of the clone. */
function placeOf(path: string): string {
  return relative(root, path)
    .replace(/^(src|scripts)\//, '')
    .replace(/\.ts$/, '.js');
}

function withoutModules(): Plugin {
  return {
    name: 'geode-without-modules',
    enforce: 'pre',
    load(id) {
      const why = leftOut[relative(root, id)];
      return why === undefined
        ? null
        : `module.exports = function () { throw new Error(${JSON.stringify(why)}); };`;
    },
  };
}

/** Each module keeps the URL that it would have as a file of its own, whatever chunk it is in. */
function withOwnPlaces(assets: Set<string>): Plugin {
  const mark = (place: string) => `__geodeUrl(${JSON.stringify(place)})`;
  return {
    name: 'geode-own-places',
    enforce: 'pre',
    transform(code, id) {
      if (!id.startsWith(root) || id.includes('node_modules')) return null;
      if (/^(await )?using /m.test(code))
        throw new Error(
          `${relative(root, id)} has \`using\` at its top, which Rolldown makes an ordinary variable of.`,
        );
      if (!code.includes('import.meta.')) return null;
      return code
        .replace(ownModule, "new URL('$1.js', import.meta.url")
        .replace(packageFile, (_, file: string) => {
          assets.add(file);
          return mark(`assets/${file}`);
        })
        .replaceAll('import.meta.url', mark(placeOf(relative(root, id))));
    },
    renderChunk(code, { fileName }) {
      return code.replace(/__geodeUrl\("([^"]+)"\)/g, (_, place: string) => {
        const path = posix.relative(posix.dirname(fileName), place);
        return `new URL(${JSON.stringify(path.startsWith('.') ? path : `./${path}`)}, import.meta.url).href`;
      });
    },
  };
}

/** Files that are no modules: those beside their source, and those of packages. */
function copyAssets(dist: string, assets: ReadonlySet<string>): void {
  const copy = (from: string, to: string) => {
    mkdirSync(dirname(to), { recursive: true });
    cpSync(from, to);
  };
  for (const file of globSync('src/**/*.{py,cjs,mjs,wasm,json}', { cwd: root }))
    copy(join(root, file), join(dist, file.slice('src/'.length)));
  const { resolve: find } = createRequire(import.meta.url);
  for (const file of assets) copy(find(file), join(dist, 'assets', file));
}
