import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { installPackages, whyNoPackages } from './apt.ts';
import { command, tailOf } from './command.ts';
import { locked } from './lock.ts';

const startDeadlineMs = 120_000;

export interface Sshd extends AsyncDisposable {
  readonly port: number;
  /** For `ssh -F`: it knows the server's key and has a key of its own that the server takes. */
  readonly config: string;
  /** A client config without the server's key. */
  readonly configOfStranger: string;
  /** A client config with a key that the server refuses. */
  readonly configOfRefused: string;
}

export async function installSshd(): Promise<void> {
  const reason = whyNoPackages();
  if (reason !== null) throw new Error(`the ssh server cannot be installed: ${reason}`);
  await installPackages(['openssh-server', 'openssh-client', 'openssl']);
}

/** Starts a server for the caller alone, with keys of its own. It ends with the caller, at the latest. */
export function startSshd(): Promise<Sshd> {
  // One at a time: a port that was free is taken only when the server listens.
  return locked('sshd', serve);
}

async function serve(): Promise<Sshd> {
  const folder = mkdtempSync(join(tmpdir(), 'geode-test-sshd-'));
  const at = (name: string) => join(folder, name);
  for (const name of ['server', 'taken', 'refused'])
    await command('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(name)], { timeoutMs: 60_000 });
  const port = await freePort();
  // The server insists on this folder.
  mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  writeFileSync(at('authorized'), readFileSync(at('taken.pub')), { mode: 0o600 });
  writeFileSync(
    at('sshd_config'),
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${at('server')}`,
      `AuthorizedKeysFile ${at('authorized')}`,
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'PermitRootLogin prohibit-password',
      'UsePAM no',
      'StrictModes no',
      'PidFile none',
      'MaxSessions 64',
    ].join('\n'),
  );
  writeFileSync(at('known'), `[127.0.0.1]:${port} ${readFileSync(at('server.pub'), 'utf8')}`);
  writeFileSync(at('nobody-known'), '');
  const configured = (name: string, known: string, key: string) => {
    const lines = [`UserKnownHostsFile ${at(known)}`, 'GlobalKnownHostsFile none', `IdentityFile ${at(key)}`];
    writeFileSync(at(name), [...lines, 'IdentitiesOnly yes', 'IdentityAgent none'].join('\n'), {
      mode: 0o600,
    });
    return at(name);
  };
  const child = spawn(
    'setpriv',
    ['--pdeathsig', 'KILL', '/usr/sbin/sshd', '-D', '-e', '-f', at('sshd_config')],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = tailOf(said + text);
  });
  const stop = async () => {
    await ended(child);
    rmSync(folder, { recursive: true, force: true });
  };
  const deadline = Date.now() + startDeadlineMs;
  while (!(await answers(port))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop();
      throw new Error(`sshd did not start: ${said}`);
    }
    await sleep(50);
  }
  return {
    port,
    config: configured('ssh-known', 'known', 'taken'),
    configOfStranger: configured('ssh-stranger', 'nobody-known', 'taken'),
    configOfRefused: configured('ssh-refused', 'known', 'refused'),
    [Symbol.asyncDispose]: stop,
  };
}

/** Logins outlive the server that took them, so they are ended first. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const exit = once(child, 'exit');
    for (const pid of childrenOf(child.pid ?? 0)) process.kill(pid, 'SIGKILL');
    child.kill('SIGKILL');
    await exit;
  }
  child.stderr?.destroy();
}

function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.trim().split(' ').filter(Boolean).map(Number);
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => resolve(true)).once('error', () => resolve(false));
    socket.once('close', () => resolve(false)).once('data', () => socket.destroy());
  });
}
