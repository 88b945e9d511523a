/**
 * Builds what people install: `npm run build` makes build/package and build/geode-VERSION.tgz, with compiled
 * JavaScript, types, the guest for every architecture, the licences of what it depends on and a list of its parts
 * (SBOM). It runs on Node 20 and newer and needs neither Go nor a compiler.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { buildAgent } from './build-agent.ts';
import { bundlePackage } from './build-cli.ts';
import { buildDashboard } from './build-dashboard.ts';
import { buildGuest } from './build-guest.ts';
import { dependenciesOf, licencesDocument } from './licences-document.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

const manifestSchema = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  exports: z.record(z.string(), z.string()),
  dependencies: z.record(z.string(), z.string()),
  optionalDependencies: z.record(z.string(), z.string()),
});

/** Returns the path of the tarball. */
export async function buildPackage(build = join(root, 'build')): Promise<string> {
  const folder = join(build, 'package');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  compile(join(folder, 'dist'));
  const programs = await buildGuest(['amd64', 'arm64']);
  await buildDashboard();
  await buildAgent();
  for (const name of ['bin', 'images', 'LICENSE', 'README.md', 'CHANGELOG.md'])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  for (const path of programs) copy(path, join(folder, 'guest/dist', basename(path)));
  copy(join(root, 'bundle/agent-stdin.mjs'), join(folder, 'bundle/agent-stdin.mjs'));
  cpSync(join(root, 'dashboard/dist'), join(folder, 'dashboard/dist'), {
    recursive: true,
    filter: (path) => !path.endsWith('.vite'),
  });
  await bundlePackage(folder);
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`);
  writeFileSync(join(folder, 'LICENCES.md'), licencesDocument(root));
  writeFileSync(join(folder, 'sbom.json'), `${JSON.stringify(partsList(), null, 2)}\n`);
  const [packed] = z
    .array(z.object({ filename: z.string() }))
    .parse(JSON.parse(npm(['pack', '--json', '--ignore-scripts'], folder)));
  if (packed === undefined) throw new Error('npm pack made no tarball.');
  const tarball = join(build, packed.filename);
  renameSync(join(folder, packed.filename), tarball);
  return tarball;
}

/** Types are taken out, and names of files that only this project has become those of the package. */
function compile(dist: string): void {
  const tsc = join(root, 'node_modules/.bin/tsc');
  execFileSync(tsc, ['-p', 'tsconfig.build.json', '--outDir', dist], { cwd: root, stdio: 'inherit' });
  for (const file of globSync('**/*.{js,d.ts}', { cwd: dist })) {
    const path = join(dist, file);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace(/(['"])(\.{1,2}\/[^'"\n]*)\.ts\1/g, '$1$2.js$1'));
  }
  for (const file of globSync('src/**/*.{py,cjs,mjs,wasm,json}', { cwd: root }))
    copy(join(root, file), join(dist, file.slice('src/'.length)));
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}

function manifest() {
  const parsed: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { name, version, description, license, exports, ...depends } = manifestSchema.parse(parsed);
  const compiled = Object.entries(exports).map(([entry, source]) => {
    const path = source.replace('./src/', './dist/').replace(/\.ts$/, '');
    return [entry, { types: `${path}.d.ts`, default: `${path}.js` }];
  });
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    bin: { geode: 'bin/geode.js' },
    exports: Object.fromEntries(compiled),
    engines: { node: '>=20' },
    ...depends,
  };
}

const sbomSchema = z.looseObject({
  components: z.array(z.looseObject({ 'bom-ref': z.string(), name: z.string(), version: z.string() })),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

/** npm's own `--omit=dev` also leaves out what a development tool and Geode both need, so the list is cut here. */
function partsList(): z.infer<typeof sbomSchema> {
  const all = sbomSchema.parse(JSON.parse(npm(['sbom', '--sbom-format=cyclonedx'], root)));
  const shipped = new Set(dependenciesOf(root).map(({ name, version }) => `${name}@${version}`));
  const components = all.components.filter(({ name, version }) => shipped.has(`${name}@${version}`));
  const inside = new Set(components.map((component) => component['bom-ref']));
  const known = new Set(all.components.map((component) => component['bom-ref']));
  // The root of the list is no component of it.
  const stays = (ref: string) => inside.has(ref) || !known.has(ref);
  const dependencies = all.dependencies
    .filter(({ ref }) => stays(ref))
    .map((each) => ({ ...each, dependsOn: each.dependsOn.filter(stays) }));
  return { ...all, components, dependencies };
}

function npm(args: readonly string[], cwd: string): string {
  return execFileSync('npm', args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

if (import.meta.main) console.log(await buildPackage());
