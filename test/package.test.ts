import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { buildNodePackage, nodeArchitectures } from '../scripts/build-node-package.ts';
import { buildPackage } from '../scripts/build-package.ts';
import { type Newcomer, openNewcomer } from './engine/newcomer.ts';
import { type NpmRegistry, startNpmRegistry } from './engine/npm-registry.ts';
import { hostImageTests } from './host-image.ts';
import { installScriptTests } from './install-script.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

const { bubblewrap } = inject('engines');
const reason = !bubblewrap.available
  ? bubblewrap.reason
  : process.getuid?.() === 0
    ? null
    : 'only root can make a root filesystem';
const skipped = reason === null ? '' : ` (skipped: ${reason})`;
const root = fileURLToPath(new URL('..', import.meta.url));
const MOST_MEGABYTES = 200;
const MOST_PACKAGES = 60;

describe.skipIf(reason !== null)(`the package that people install${skipped}`, { timeout: 900_000 }, () => {
  let folder: TemporaryFolder;
  let registry: NpmRegistry;
  let newcomer: Newcomer;
  let built: string;

  beforeAll(async () => {
    folder = temporaryFolder();
    built = join(folder.path, 'build', 'package');
    await buildPackage(join(folder.path, 'build'));
    registry = await startNpmRegistry(join(folder.path, 'registry'));
    for (const architecture of nodeArchitectures)
      await registry.publish(buildNodePackage(architecture, join(folder.path, 'build')));
    await registry.publish(built);
    newcomer = await openNewcomer(join(folder.path, 'machine'));
  }, 900_000);
  afterAll(async () => {
    await newcomer?.[Symbol.asyncDispose]();
    await registry?.[Symbol.asyncDispose]();
    folder?.[Symbol.dispose]();
  });

  for (const as of ['root', 'user'] as const)
    for (const npm of ['npm10', 'npm11'] as const)
      it(`PKG-1: installs by name with ${npm} as ${as}, runs code, and is gone after npm uninstall`, async () => {
        const run = (script: string) => newcomer.run(script, as, npm, registry.url);
        expect(await run('node --version; command -v go gcc make || echo no compiler')).toBe(
          'v20.20.2\nno compiler\n',
        );
        const installed = await run('npm install --global geode-home 2>&1');
        expect(installed).toMatch(/^added \d+ packages? in /m);
        expect(installed).not.toMatch(/warn|EBADENGINE|error/i);

        const where = (await run('npm root --global')).trim();
        const packages = await run('npm ls --global --all --parseable | grep -c /node_modules/');
        expect(Number(packages)).toBeLessThanOrEqual(MOST_PACKAGES);
        expect(Number.parseInt(await run(`du -sm ${where}/geode-home`), 10)).toBeLessThanOrEqual(
          MOST_MEGABYTES,
        );
        expect(await run('geode --version')).toBe(`geode ${versionOf(built)}\n`);

        const code = `geode run --runtime bubblewrap python -c 'print(6*7)' 2>/dev/null; geode doctor || true; geode host stop >/dev/null`;
        const [answer, ...verdict] = (await run(code)).split('\n');
        expect(answer).toBe('42');
        expect(verdict.join('\n')).toContain('bubblewrap');

        expect(await run('npm uninstall --global geode-home 2>&1')).toMatch(/^removed \d+ packages? in /m);
        expect(await run(`ls ${where} | grep geode || command -v geode || echo gone`)).toBe('gone\n');
      });

  it('PKG-1: npx geode-home shows the demonstration, and with a command it is geode', async () => {
    // As a person who never configured npm.
    const run = (script: string) =>
      newcomer.run(`unset npm_config_prefix; ${script}`, 'user', 'npm10', registry.url);
    const shown = await run('GEODE_RUNTIME_NAME=bubblewrap npx --yes geode-home --once');
    expect(shown).toMatch(/^ {2}python {2}print.* 42$/m);
    expect(shown).toContain('http://127.0.0.1:');
    expect(await run('npx --yes geode-home --version')).toBe(`geode ${versionOf(built)}\n`);
  });

  it('PKG-1: can be imported as a library with types, and its client too', async () => {
    const script = `mkdir -p app && cd app && echo '{"private":true,"type":"module"}' >package.json &&
npm install geode-home >/dev/null 2>&1 &&
echo "import { createGeode } from 'geode-home'; import { createClient } from 'geode-home/client'; import { unixTransport } from 'geode-home/client/unix'; console.log(typeof createGeode, typeof createClient, typeof unixTransport)" >use.js &&
node_modules/geode-home-node-linux-*/bin/node use.js && ls node_modules/geode-home/dist/index.d.ts`;
    expect(await newcomer.run(script, 'user', 'npm11', registry.url)).toBe(
      'function function function\nnode_modules/geode-home/dist/index.d.ts\n',
    );
  });

  it('PKG-1: holds guests for both architectures, the dashboard and the demonstration; no sources, no scripts', () => {
    for (const architecture of ['amd64', 'arm64'])
      for (const program of ['guest', 'workspace', 'images'])
        expect(existsSync(join(built, 'guest/dist', `${program}-linux-${architecture}`))).toBe(true);
    for (const file of ['dashboard/dist/index.html', 'dist/demo.js', 'bundle/agent-stdin.mjs'])
      expect(existsSync(join(built, file)), file).toBe(true);
    // The guides on the site link to their examples.
    const sources = globSync('**/*.ts', { cwd: built }).filter(
      (file) => !file.startsWith('site/dist/examples/'),
    );
    expect(sources.filter((file) => !file.endsWith('.d.ts'))).toEqual([]);
    const manifest = z
      .looseObject({ bin: z.record(z.string(), z.string()) })
      .parse(JSON.parse(readFileSync(join(built, 'package.json'), 'utf8')));
    expect(manifest).not.toHaveProperty('private');
    expect(manifest).not.toHaveProperty('scripts');
    expect(Object.keys(manifest.bin)).toEqual(['geode', 'geode-home']);
  });

  it('SEC-3: no install script runs, and the memory works without any', async () => {
    const run = (script: string) => newcomer.run(script, 'user', 'npm11', registry.url);
    const find = `mkdir -p plain && cd plain && echo '{"private":true}' >package.json &&
npm install --ignore-scripts geode-home >/dev/null 2>&1 && cat node_modules/.package-lock.json`;
    const { packages } = lockSchema.parse(JSON.parse(await run(find)));
    expect(Object.keys(packages)).toContain('node_modules/geode-home');
    expect(Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
    const geode = 'plain/node_modules/.bin/geode';
    const remember = `${geode} memory add 'The crane is yellow.' >/dev/null && ${geode} memory search crane`;
    expect(await run(`${remember}; ${geode} host stop >/dev/null`)).toContain('The crane is yellow.');
  });

  installScriptTests(() => ({
    newcomer,
    machine: join(folder.path, 'machine'),
    registry: registry.url,
    version: versionOf(built),
  }));

  hostImageTests(() => ({ registry: registry.url, version: versionOf(built) }));

  it('SEC-3: the SBOM names every installed package with its lockfile version', () => {
    const { components } = sbomOf(built);
    const listed = new Set(components.map(({ name }) => name));
    const bundled = globSync('{dist,build,bundle}/**/*.{js,mjs}', { cwd: built }).flatMap((file) =>
      [...readFileSync(join(built, file), 'utf8').matchAll(bundledModule)].map(([, name = '']) => name),
    );
    expect(new Set(bundled).size).toBeGreaterThan(100);
    const imported = globSync('dashboard/src/**/*.{ts,tsx}', { cwd: root }).flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(importedPackage)].map(([, name = '']) => name),
    );
    expect(imported.length).toBeGreaterThan(50);
    expect([...bundled, ...imported].filter((name) => !listed.has(name))).toEqual([]);
    expect(listed).toContain('std');
    for (const name of ['vitest', '@biomejs/biome', '@scarf/scarf', 'onnxruntime-node', 'ssh2'])
      expect(listed).not.toContain(name);

    const { packages } = lockSchema.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));
    const locked = Object.entries(packages).map(
      ([path, { version }]) =>
        `pkg:npm/${path.replace(/^.*node_modules\//, '').replace('@', '%40')}@${version}`,
    );
    const own = /^pkg:(golang\/std|npm\/geode-home-node-linux-(x64|arm64))@/;
    expect(
      components.map(({ purl }) => purl).filter((purl) => !own.test(purl) && !locked.includes(purl)),
    ).toEqual([]);
    const unchecked = Object.entries(packages).filter(
      ([path, { integrity, inBundle }]) => path !== '' && !inBundle && !integrity?.startsWith('sha512-'),
    );
    expect(unchecked).toEqual([]);
  });

  it('SEC-3: comes with the licences of all that it holds, and with their texts', () => {
    const licences = readFileSync(join(built, 'LICENCES.md'), 'utf8');
    for (const { name, version, licenses } of sbomOf(built).components) {
      const [{ expression }] = licenses;
      expect(licences).toContain(`| ${name} | ${version} | ${expression} |`);
      expect(isPermissive(expression), `${name}: ${expression}`).toBe(true);
    }
    expect(licences).toContain('The Go Authors');
    for (const bad of ['MIT AND GPL-3.0', '(MIT AND GPL-3.0-only)', 'MIT-like', 'unknown', ''])
      expect(isPermissive(bad), bad).toBe(false);
    expect(isPermissive('(GPL-2.0 OR MIT) AND ISC')).toBe(true);
  });
});

/** A comment of the bundler above each module. */
const bundledModule =
  /^\/\/ (?:#region )?node_modules\/(?:[^\n]*\/node_modules\/)?((?:@[^/\n]+\/)?[^/\n]+)\//gm;
const importedPackage = /from '((?:@[^/']+\/)?[^./'][^/']*)/g;

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      integrity: z.string().optional(),
      inBundle: z.boolean().optional(),
      hasInstallScript: z.boolean().optional(),
    }),
  ),
});

function sbomOf(folder: string) {
  const schema = z.object({
    bomFormat: z.literal('CycloneDX'),
    components: z.array(
      z.object({
        name: z.string(),
        version: z.string(),
        purl: z.string(),
        licenses: z.tuple([z.object({ expression: z.string() })]),
      }),
    ),
  });
  return schema.parse(JSON.parse(readFileSync(join(folder, 'sbom.json'), 'utf8')));
}

const permissive = new Set([
  ...['MIT', 'MIT-0', 'Apache-2.0', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause'],
  ...['BlueOak-1.0.0', 'CC0-1.0', 'Unlicense', 'Python-2.0', 'MPL-2.0'],
  // For fonts: free to bundle with their licence.
  'OFL-1.1',
]);

/** The whole SPDX expression: one choice of each OR, and every part of an AND. */
function isPermissive(expression: string): boolean {
  const inner = /\(([^()]*)\)/.exec(expression);
  if (inner !== null) {
    const value = isPermissive(inner[1] ?? '') ? 'MIT' : 'none';
    return isPermissive(expression.replace(inner[0], value));
  }
  return expression
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((part) => permissive.has(part.trim())));
}

function versionOf(folder: string): string {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
  return version;
}
