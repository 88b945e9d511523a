/** A registry of npm packages on this machine: the real Verdaccio, fetched once into the cache of the tests. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { freePort } from '../free-port.ts';
import { cacheFolder } from './folders.ts';

const VERSION = '6.8.0';

export interface NpmRegistry extends AsyncDisposable {
  readonly url: string;
  /** Publishes a folder that has a package.json, as its author would. */
  publish(folder: string): Promise<void>;
}

/** Holds packages of `geode-home…` alone; others come from the registry that npm is set up for here. */
export async function startNpmRegistry(folder: string): Promise<NpmRegistry> {
  const program = await verdaccio();
  mkdirSync(folder, { recursive: true });
  const uplink = (await npm(['config', 'get', 'registry'], folder)).trim();
  const config = {
    storage: join(folder, 'storage'),
    max_body_size: '200mb',
    uplinks: { usual: { url: uplink } },
    packages: {
      'geode-home*': { access: '$all', publish: '$anonymous' },
      '**': { access: '$all', proxy: 'usual' },
    },
    log: { type: 'stdout', format: 'pretty', level: 'warn' },
  };
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify(config));
  // Verdaccio does not say which port it was given.
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(
    process.execPath,
    [program, '--config', join(folder, 'config.yaml'), '--listen', `127.0.0.1:${port}`],
    { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = once(child, 'exit');
  await untilListening(child.stdout, url);
  child.stdout.resume();
  const npmrc = join(folder, 'npmrc');
  // Any token does: nobody logs in to publish here.
  writeFileSync(npmrc, `registry=${url}/\n${url.replace('http:', '')}/:_authToken=none\n`);
  return {
    url,
    publish: async (what) => {
      await npm(['publish', '--ignore-scripts', '--userconfig', npmrc, '--registry', url, what], folder);
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
    },
  };
}

async function untilListening(stdout: NodeJS.ReadableStream, url: string): Promise<void> {
  const seen: string[] = [];
  for await (const line of createInterface({ input: stdout })) {
    seen.push(line);
    if (line.includes(url)) return;
  }
  throw new Error(`Verdaccio ended:\n${seen.join('\n')}`);
}

async function verdaccio(): Promise<string> {
  const folder = join(cacheFolder, `verdaccio-${VERSION}`);
  if (!existsSync(folder)) {
    const half = `${folder}.partial`;
    rmSync(half, { recursive: true, force: true });
    mkdirSync(half, { recursive: true });
    const manifest = {
      private: true,
      dependencies: { verdaccio: VERSION },
      overrides: { 'node-fetch': '2.7.0' },
    };
    writeFileSync(join(half, 'package.json'), JSON.stringify(manifest));
    await npm(['install', '--ignore-scripts', '--no-audit', '--no-fund'], half);
    renameSync(half, folder);
  }
  return join(folder, 'node_modules/verdaccio/bin/verdaccio');
}

async function npm(args: readonly string[], cwd: string): Promise<string> {
  const options = { cwd, timeout: 300_000, maxBuffer: 64 * 1024 ** 2 };
  return (await promisify(execFile)('npm', [...args], options)).stdout;
}
