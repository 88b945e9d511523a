/**
 * Builds the program that runs in sandboxes of `geode gateway --containerized` into bundle/agent-stdin.mjs, one file
 * with all that it needs: `npm run agent`. Nothing is built when nothing changed.
 */
import { createHash, randomBytes } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packagesFile, recordPackages } from './bundled-packages.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'bundle');
const name = 'agent-stdin.mjs';
const record = join(folder, 'fingerprint.txt');

/** Brings the bundle up to date. Returns true if it was rebuilt. */
export async function buildAgent(): Promise<boolean> {
  const fingerprint = fingerprintOf();
  if (recorded() === fingerprint) return false;
  const { build } = await import('vite');
  mkdirSync(folder, { recursive: true });
  const made = join(folder, `new-${randomBytes(6).toString('hex')}`);
  try {
    await build({
      configFile: false,
      logLevel: 'warn',
      root,
      build: {
        ssr: join(root, 'src/agents/sandboxed/program/main.ts'),
        outDir: made,
        target: 'node24',
        minify: true,
        rollupOptions: { output: { entryFileNames: name, codeSplitting: false } },
      },
      ssr: { noExternal: true },
      plugins: [recordPackages(sources())],
    });
    // The folder stays: sandboxes that run show it, and find the new file in it.
    renameSync(join(made, packagesFile), join(folder, 'packages.json'));
    renameSync(join(made, name), join(folder, name));
    writeFileSync(record, fingerprint);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
  return true;
}

function sources(): string[] {
  return globSync('src/{agents,base,config,contract,machine,models,seams,shell}/**/*.ts', { cwd: root });
}

function fingerprintOf(): string {
  const hash = createHash('sha256');
  for (const file of [
    ...sources(),
    'package.json',
    'package-lock.json',
    'scripts/build-agent.ts',
    'scripts/bundled-packages.ts',
  ].sort())
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  return hash.digest('hex');
}

function recorded(): string | undefined {
  try {
    return readFileSync(record, 'utf8');
  } catch {
    return undefined;
  }
}

if (import.meta.main) await buildAgent();
