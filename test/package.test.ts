import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { buildNodePackage, nodeArchitectures } from '../scripts/build-node-package.ts';
import { buildPackage } from '../scripts/build-package.ts';
import { type Newcomer, openNewcomer } from './engine/newcomer.ts';
import { type NpmRegistry, startNpmRegistry } from './engine/npm-registry.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

const { bubblewrap } = inject('engines');
const reason = !bubblewrap.available
  ? bubblewrap.reason
  : process.getuid?.() === 0
    ? null
    : 'only root can make a root filesystem';
const skipped = reason === null ? '' : ` (skipped: ${reason})`;
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
    expect(shown).toMatch(/^.*\b42$/m);
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
    expect(globSync('**/*.ts', { cwd: built }).filter((file) => !file.endsWith('.d.ts'))).toEqual([]);
    const manifest = z
      .looseObject({ bin: z.record(z.string(), z.string()) })
      .parse(JSON.parse(readFileSync(join(built, 'package.json'), 'utf8')));
    expect(manifest).not.toHaveProperty('private');
    expect(manifest).not.toHaveProperty('scripts');
    expect(Object.keys(manifest.bin)).toEqual(['geode', 'geode-home']);
  });

  it('SEC-3: comes with the licences of all that it holds, their texts, and an SBOM', () => {
    const licences = readFileSync(join(built, 'LICENCES.md'), 'utf8');
    const sbom = z
      .object({
        bomFormat: z.literal('CycloneDX'),
        components: z.array(
          z.object({
            name: z.string(),
            version: z.string(),
            licenses: z.tuple([z.object({ expression: z.string() })]),
          }),
        ),
      })
      .parse(JSON.parse(readFileSync(join(built, 'sbom.json'), 'utf8')));
    expect(sbom.components.length).toBeGreaterThan(100);
    const known =
      /^\(?(MIT|MIT-0|Apache-2\.0|ISC|0BSD|BSD-[23]-Clause|BlueOak-1\.0\.0|CC0-1\.0|Unlicense|Python-2\.0|MPL-2\.0)( (OR|AND) .+)?\)?$/;
    for (const { name, version, licenses } of sbom.components) {
      expect(licences).toContain(`| ${name} | ${version} |`);
      expect(licenses[0].expression, name).toMatch(known);
    }
    const listed = new Set(sbom.components.map(({ name }) => name));
    for (const name of ['hono', 'zod', 'dockerode', 'discord.js', 'swagger-ui-dist', 'react', 'ai'])
      expect(listed).toContain(name);
    for (const name of [
      'vitest',
      '@biomejs/biome',
      '@scarf/scarf',
      'onnxruntime-node',
      'ssh2',
      '@grpc/grpc-js',
    ])
      expect(listed).not.toContain(name);
    expect(licences).toContain('The Go Authors');
  });
});

function versionOf(folder: string): string {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
  return version;
}
