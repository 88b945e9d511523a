/**
 * Builds what people install: `npm run build` makes build/package and its tarball, with the program and all packages
 * that it uses in one bundle, types, the guest for every architecture, the dashboard, the licences of all parts and a
 * list of them (SBOM). Nothing is compiled, fetched or run when it is installed. Beside it are the packages of Node 24.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { buildAgent } from './build-agent.ts';
import { bundleCommands } from './build-cli.ts';
import { buildDashboard } from './build-dashboard.ts';
import { buildGuest, guestSources } from './build-guest.ts';
import {
  buildNodePackage,
  lockedNode,
  nodeArchitectures,
  nodePackageName,
  repository,
} from './build-node-package.ts';
import { buildSite } from './build-site.ts';
import { bundleInto } from './bundle-package.ts';
import {
  describePackages,
  licencesDocument,
  type Part,
  packagesFile,
  partsList,
  readPackages,
} from './bundled-packages.ts';
import { findGo } from './go-toolchain.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

const manifestSchema = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  exports: z.record(z.string(), z.string()),
  dependencies: z.looseObject({ zod: z.string() }),
});

/** Returns the path of the tarball. */
export async function buildPackage(build = join(root, 'build')): Promise<string> {
  const folder = join(build, 'package');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const source = manifestSchema.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
  const programs = await buildGuest(['amd64', 'arm64']);
  await buildDashboard();
  await buildAgent();
  declareTypes(join(folder, 'dist'));
  const modules = await bundleCommands(folder);
  const entries = [
    'src/cli/main.ts',
    'scripts/demo.ts',
    ...Object.values(source.exports).map((path) => path.slice(2)),
  ];
  const bundled = await bundleInto(join(folder, 'dist'), [...new Set([...entries, ...modules])]);
  for (const name of ['bin', 'images', 'LICENSE', 'README.md', 'CHANGELOG.md'])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  for (const path of programs) copy(path, join(folder, 'guest/dist', basename(path)));
  copy(join(root, 'bundle/agent-stdin.mjs'), join(folder, 'bundle/agent-stdin.mjs'));
  cpSync(join(root, 'dashboard/dist'), join(folder, 'dashboard/dist'), {
    recursive: true,
    filter: (path) => !path.endsWith('.vite'),
  });
  const site = await buildSite(join(build, 'site'));
  cpSync(site, join(folder, 'site/dist'), { recursive: true, filter: (path) => !path.endsWith('.vite') });
  const packages = describePackages([
    ...bundled,
    ...readPackages(join(root, 'bundle/packages.json')),
    ...readPackages(join(root, 'dashboard/dist', packagesFile)),
    ...readPackages(join(site, packagesFile)),
    // No module of the dashboard, but its style sheet begins with the base styles of this package.
    'node_modules/tailwindcss',
  ]);
  const go = new Map([
    ['Go, whose library is in the guest', readFileSync(join(root, 'guest/LICENSE-GO'), 'utf8').trim()],
  ]);
  const others = await otherParts();
  writeFileSync(join(folder, 'LICENCES.md'), licencesDocument(packages, others, go));
  const sbom = partsList(source, [...packages, ...others]);
  writeFileSync(join(folder, 'sbom.json'), `${JSON.stringify(sbom, null, 2)}\n`);
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifestOf(source), null, 2)}\n`);
  return pack(folder, build);
}

/** Parts that are in no bundle: the library in the programs of the guest, and the packages that bring Node. */
async function otherParts(): Promise<readonly Part[]> {
  const version = (await findGo(guestSources)).version.replace(/^go/, '');
  return [
    { name: 'std', version, licence: 'BSD-3-Clause', purl: `pkg:golang/std@${version}` },
    ...nodeArchitectures.map((each) => ({
      name: nodePackageName(each),
      version: lockedNode(each).version,
      licence: 'MIT',
      isOptional: true,
    })),
  ];
}

/** Makes the tarball of a folder in another one. */
export function pack(folder: string, into: string): string {
  const output = execFileSync('npm', ['pack', '--json', '--ignore-scripts'], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [packed] = z.array(z.object({ filename: z.string() })).parse(JSON.parse(output));
  if (packed === undefined) throw new Error('npm pack made no tarball.');
  const tarball = join(into, packed.filename);
  renameSync(join(folder, packed.filename), tarball);
  return tarball;
}

/** Declarations of all sources. Names of files that only this project has become those of the package. */
function declareTypes(dist: string): void {
  const tsc = join(root, 'node_modules/.bin/tsc');
  const args = ['-p', 'tsconfig.build.json', '--emitDeclarationOnly', '--outDir', dist];
  execFileSync(tsc, args, { cwd: root, stdio: 'inherit' });
  for (const file of globSync('**/*.d.ts', { cwd: dist })) {
    const path = join(dist, file);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace(/(['"])(\.{1,2}\/[^'"\n]*)\.ts\1/g, '$1$2.js$1'));
  }
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}

function manifestOf({
  name,
  version,
  description,
  license,
  exports,
  dependencies,
}: z.infer<typeof manifestSchema>) {
  const compiled = Object.entries(exports).map(([entry, path]) => {
    const place = path.replace('./src/', './dist/').replace(/\.ts$/, '');
    return [entry, { types: `${place}.d.ts`, default: `${place}.js` }];
  });
  const nodes = nodeArchitectures.map((each) => [nodePackageName(each), lockedNode(each).version]);
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    bin: { geode: 'bin/geode.js', 'geode-home': 'bin/geode-home.js' },
    exports: Object.fromEntries(compiled),
    files: [
      'bin',
      'build',
      'bundle',
      'dashboard',
      'dist',
      'guest',
      'images',
      'site',
      'CHANGELOG.md',
      'LICENCES.md',
      'sbom.json',
    ],
    engines: { node: '>=20' },
    os: ['linux', 'darwin'],
    // The types name it; what runs is in the bundle.
    dependencies: { zod: dependencies.zod },
    optionalDependencies: Object.fromEntries(nodes),
    ...repository(),
  };
}

if (import.meta.main) {
  const build = join(root, 'build');
  console.log(await buildPackage(build));
  for (const architecture of nodeArchitectures)
    console.log(pack(buildNodePackage(architecture, build), build));
}
