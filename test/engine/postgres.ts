import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from '../free-port.ts';
import { installPackages, whyNoPackages } from './apt.ts';
import { command } from './command.ts';
import { locked } from './lock.ts';

const startDeadlineMs = 120_000;
/** The package makes this account; the server refuses to run as root. */
const account = 'postgres';

export interface Postgres extends AsyncDisposable {
  /** A new, empty database of the server. */
  database(): Promise<string>;
}

/** Call it under the setup lock. */
export async function installPostgres(): Promise<void> {
  const reason = whyNoPackages();
  if (reason !== null) throw new Error(`PostgreSQL cannot be installed: ${reason}`);
  await installPackages(['postgresql']);
  program('postgres');
}

/** Starts a server for the caller alone, in a folder of its own. It ends with the caller, at the latest. */
export function startPostgres(): Promise<Postgres> {
  // One at a time: a port that was free is taken only when the server listens.
  return locked('postgres', serve);
}

async function serve(): Promise<Postgres> {
  chmodSync(tmpdir(), 0o711);
  const folder = mkdtempSync(join(tmpdir(), 'geode-test-postgres-'));
  await command('chown', [account, folder], { timeoutMs: 10_000 });
  const data = join(folder, 'data');
  await command(
    'setpriv',
    [...asAccount, program('initdb'), '-D', data, '-U', account, '-A', 'trust', '-N', '-E', 'UTF8'],
    { timeoutMs: 120_000 },
  );
  const port = await freePort();
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off'];
  const server = spawn(
    'setpriv',
    [
      ...asAccount,
      '--pdeathsig=KILL',
      program('postgres'),
      ...['-D', data, '-p', String(port)],
      ...settings.flatMap((each) => ['-c', each]),
    ],
    { stdio: 'ignore', cwd: folder },
  );
  const url = (name: string) => `postgres://${account}@127.0.0.1:${port}/${name}`;
  await answering(url(account), server);
  let count = 0;
  return {
    async database() {
      count += 1;
      await asked(url(account), `CREATE DATABASE test_${count}`);
      return url(`test_${count}`);
    },
    async [Symbol.asyncDispose]() {
      const over = once(server, 'exit');
      server.kill('SIGINT');
      await over;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const asAccount = [`--reuid=${account}`, `--regid=${account}`, '--clear-groups'];

function program(name: string): string {
  const [found] = globSync(`/usr/lib/postgresql/*/bin/${name}`);
  if (found === undefined) throw new Error(`the package postgresql has no program ${name}`);
  return found;
}

async function answering(url: string, server: ChildProcess): Promise<void> {
  for (const deadline = Date.now() + startDeadlineMs; Date.now() < deadline && server.exitCode === null; ) {
    const error = await asked(url, 'SELECT 1').catch((thrown: unknown) => thrown);
    if (error === undefined) return;
    await sleep(50);
  }
  throw new Error(`PostgreSQL did not start (exit code ${server.exitCode})`);
}

async function asked(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  // A server that is stopped ends connections by itself.
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
