import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { Agent } from 'node:http';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { Duplex, type Readable, type Writable } from 'node:stream';
import { GeodeError } from '../../base/errors.ts';

export interface SshTarget {
  /** `ssh://[user@]host[:port][/path of the engine's socket there]` */
  readonly url: URL;
  /** A configuration for ssh, in place of the user's own. */
  readonly configFile?: string | undefined;
  /** Folder of the shared connection's socket. */
  readonly runDir: string;
}

const connectSeconds = 10;
/** How long the shared connection stays after the last request. */
const keepSeconds = 30;
/** Idle connections to keep for the next request. Each costs one process on this machine and one on the other. */
const mostIdle = 2;
const mostWords = 4096;
/** A shared connection in the background may keep the program's stderr open. */
const lastWordsMs = 500;

/**
 * Carries HTTP to an engine on another machine. Each connection is the system's `ssh` running `docker system
 * dial-stdio` there; all share one ssh connection. Keys, agents, jump hosts and known_hosts are the user's own. An
 * unknown host key is refused, and ssh never asks for a password.
 */
export function sshAgent(target: SshTarget): Agent {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: mostIdle });
  agent.createConnection = () => new SshConnection(target);
  return agent;
}

function argumentsFor({ url, configFile, runDir }: SshTarget): readonly string[] {
  mkdirSync(runDir, { recursive: true, mode: 0o700 });
  // Short, because socket paths are limited.
  const name = createHash('sha256').update(`${url.href}\n${configFile}`).digest('hex').slice(0, 8);
  const settings = {
    BatchMode: 'yes',
    StrictHostKeyChecking: 'yes',
    ConnectTimeout: connectSeconds,
    ServerAliveInterval: 15,
    ServerAliveCountMax: 4,
    ControlMaster: 'auto',
    ControlPath: join(runDir, `ssh-${name}`),
    ControlPersist: keepSeconds,
  };
  const socket = decodeURIComponent(url.pathname);
  const remote =
    socket === '' || socket === '/' ? ['docker'] : ['docker', '--host', quoted(`unix://${socket}`)];
  return [
    '-T',
    ...(configFile === undefined ? [] : ['-F', configFile]),
    ...Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]),
    ...(url.port === '' ? [] : ['-p', url.port]),
    ...(url.username === '' ? [] : ['-l', decodeURIComponent(url.username)]),
    '--',
    url.hostname,
    ...remote,
    'system',
    'dial-stdio',
  ];
}

/** Quoted for the shell on the other machine. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** One connection to the engine, with the methods that Node's HTTP client expects of a socket. */
class SshConnection extends Duplex {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  #hasAnswered = false;
  #isIdle = false;
  #words = '';

  constructor(target: SshTarget) {
    super();
    const child = spawn('ssh', argumentsFor(target), {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stdin.on('error', () => {});
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      this.#words = (this.#words + piece).slice(-mostWords);
    });
    child.stdout.on('data', (bytes: Buffer) => {
      this.#hasAnswered = true;
      if (!this.push(bytes)) child.stdout.pause();
    });
    child.stdout.once('end', () => {
      if (this.#hasAnswered) over();
    });
    const over = () => {
      if (this.#isIdle) this.destroy();
      else if (!this.#hasAnswered) this.destroy(explained(this.#words, target.url));
      else this.#endOfAnswer();
    };
    // The HTTP client emits this event when it no longer needs the connection.
    this.on('free', () => {
      this.#isIdle = true;
    });
    child.once('error', (cause: NodeJS.ErrnoException) => this.destroy(notStarted(cause)));
    child.once('close', over);
    child.once('exit', () => setTimeout(over, lastWordsMs).unref());
  }

  #endOfAnswer(): void {
    if (!this.readableEnded && !this.destroyed) this.push(null);
    this.end();
  }

  override _read(): void {
    this.#child.stdout.resume();
  }

  override _write(bytes: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#child.stdin.write(bytes, encoding, (error) => done(error && this.#hasAnswered ? error : null));
  }

  override _final(done: () => void): void {
    this.#child.stdin.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const { stdin, stdout, stderr } = this.#child;
    this.#child.kill();
    // The shared connection in the background may keep the other ends open.
    for (const stream of [stdin, stdout, stderr]) stream.destroy();
    done(error);
  }

  setKeepAlive(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  /** The connection is used again. */
  ref(): this {
    this.#isIdle = false;
    for (const part of this.#parts()) part.ref();
    return this;
  }

  /** An idle connection does not keep the process alive. */
  unref(): this {
    for (const part of this.#parts()) part.unref();
    return this;
  }

  #parts(): readonly (ChildProcess | Socket)[] {
    const { stdin, stdout, stderr } = this.#child;
    return [this.#child, ...[stdin, stdout, stderr].filter((stream) => stream instanceof Socket)];
  }
}

function notStarted(cause: NodeJS.ErrnoException): GeodeError {
  const reason = cause.code === 'ENOENT' ? 'ssh is not installed' : `ssh cannot be started: ${cause.message}`;
  return unavailable(reason, 'Install the OpenSSH client, or set docker.host to another address.', cause);
}

/** Turns ssh's stderr into a reason and a next step. */
function explained(words: string, url: URL): GeodeError {
  const name = `${url.username === '' ? '' : `${url.username}@`}${url.hostname}`;
  const port = url.port === '' ? '' : `-p ${url.port} `;
  const last = words.trim().split('\n').at(-1) ?? '';
  const known: readonly (readonly [RegExp, string, string])[] = [
    [
      /REMOTE HOST IDENTIFICATION HAS CHANGED/,
      `the host key of ${url.hostname} is not the one in known_hosts`,
      `If you know why, remove the old key with ssh-keygen -R ${url.hostname}; otherwise somebody may be intercepting the connection.`,
    ],
    [
      /Host key verification failed|host key is known/,
      `the host key of ${url.hostname} is not known`,
      `Log in once with ssh ${port}${name} and verify the key that it shows.`,
    ],
    [
      /Permission denied/,
      `${url.hostname} refused the login${url.username === '' ? '' : ` of ${url.username}`}`,
      `Make ssh ${port}${name} work without a password: a key in the agent, or IdentityFile in ~/.ssh/config.`,
    ],
    [
      /command not found|not found/,
      `there is no docker command on ${url.hostname}`,
      'Install the docker command there; it forwards the connection to the engine.',
    ],
  ];
  const [, reason, fix] = known.find(([pattern]) => pattern.test(words)) ?? [
    undefined,
    `ssh ${port}${name} failed${last === '' ? '' : `: ${last}`}`,
    `Check ssh ${port}${name} docker version.`,
  ];
  return unavailable(reason, fix);
}

function unavailable(reason: string, hint: string, cause?: unknown): GeodeError {
  return new GeodeError('runtime_unavailable', reason, { hint, cause });
}
