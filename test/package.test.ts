import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { buildPackage } from '../scripts/build-package.ts';
import { dependenciesOf } from '../scripts/licences-document.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

describe.skipIf(!bubblewrap.available)(
  `the package that people install${skipped}`,
  { timeout: 900_000 },
  () => {
    let folder: TemporaryFolder;
    let app: string;
    let tarball: string;
    const goWasCalled = () => existsSync(join(folder.path, 'go-was-called'));
    const run = (program: string, args: readonly string[]) =>
      promisify(execFile)(program, [...args], { cwd: app, env: environment(folder.path), timeout: 600_000 });

    beforeAll(async () => {
      folder = temporaryFolder();
      app = join(folder.path, 'app');
      for (const name of ['app', 'home', 'bin']) mkdirSync(join(folder.path, name));
      // Nothing of the package may need a compiler.
      const go = join(folder.path, 'bin/go');
      writeFileSync(go, `#!/bin/sh\ntouch ${join(folder.path, 'go-was-called')}\nexit 1\n`);
      chmodSync(go, 0o755);
      tarball = await buildPackage(join(folder.path, 'build'));
      writeFileSync(join(app, 'package.json'), '{"name":"app","private":true,"type":"module"}');
      await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', tarball]);
    }, 900_000);
    afterAll(async () => {
      await run('npx', ['--no', 'geode', 'host', 'stop']);
      folder[Symbol.dispose]();
    });

    it("PKG-1: runs code with this machine's own Node, an empty home, no compiler and no install script", async () => {
      const { stdout } = await run('npx', ['--no', 'geode', 'run', 'python', '-c', 'print(6 * 7)']);
      expect(stdout).toBe('42\n');
      expect(goWasCalled()).toBe(false);
    });

    it('PKG-1: holds guests for both architectures, compiled code and no sources', async () => {
      const installed = join(app, 'node_modules/geode');
      for (const architecture of ['amd64', 'arm64'])
        for (const program of ['guest', 'workspace']) {
          const name = `${program}-linux-${architecture}`;
          expect(existsSync(join(installed, 'guest/dist', name)), name).toBe(true);
        }
      expect(existsSync(join(installed, 'src'))).toBe(false);
      const main = readFileSync(join(installed, 'dist/index.js'), 'utf8');
      expect(main).not.toMatch(/from '[^']*\.ts'/);
    });

    it('PKG-1: can be imported as a library, and its client too', async () => {
      writeFileSync(
        join(app, 'use.js'),
        "import { createApp } from 'geode'; import { createClient } from 'geode/client'; console.log(typeof createApp, typeof createClient);",
      );
      const node = join(app, 'node_modules/.bin/node');
      expect((await run(node, ['use.js'])).stdout).toBe('function function\n');
    });

    it('SEC-3: comes with a licence list and an SBOM of all that it depends on, and needs no install script', () => {
      const installed = join(app, 'node_modules/geode');
      const licences = readFileSync(join(installed, 'LICENCES.md'), 'utf8');
      const dependencies = dependenciesOf(root);
      expect(dependencies.length).toBeGreaterThan(20);
      for (const { name, licence } of dependencies) {
        expect(licences).toContain(`| ${name} |`);
        expect(licence, name).toMatch(
          /MIT|Apache-2\.0|ISC|BSD|BlueOak|0BSD|CC0|Unlicense|Python-2\.0|MPL-2\.0/,
        );
      }
      const sbom = z
        .object({ bomFormat: z.literal('CycloneDX'), components: z.array(z.object({ name: z.string() })) })
        .parse(JSON.parse(readFileSync(join(installed, 'sbom.json'), 'utf8')));
      const listed = new Set(sbom.components.map(({ name }) => name));
      for (const name of ['hono', 'zod']) expect(listed).toContain(name);
      for (const name of ['vitest', '@biomejs/biome']) expect(listed).not.toContain(name);
      // Their scripts only fetch or build what Geode does not use; the installation above ran none of them.
      const withScripts = dependencies.filter(({ hasInstallScript }) => hasInstallScript);
      expect(withScripts.map(({ name }) => name)).toEqual([
        '@scarf/scarf',
        'cpu-features',
        'onnxruntime-node',
        'protobufjs',
        'ssh2',
      ]);
      expect(existsSync(join(root, 'package-lock.json'))).toBe(true);
    });
  },
);

/** As in a new login: no variable of this run, and none of its programs before the machine's. */
function environment(folder: string): NodeJS.ProcessEnv {
  const machine = (process.env.PATH ?? '').split(delimiter).filter((part) => !part.includes('node_modules'));
  return {
    HOME: join(folder, 'home'),
    TMPDIR: process.env.TMPDIR,
    PATH: [join(folder, 'bin'), ...machine].join(delimiter),
    GEODE_SANDBOX_RUN_DIR: join(folder, 'run'),
    GEODE_RUNTIME_NAME: 'bubblewrap',
    ...(process.env.npm_config_registry === undefined
      ? {}
      : { npm_config_registry: process.env.npm_config_registry }),
  };
}
