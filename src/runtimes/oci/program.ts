import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { GeodeError } from '../../base/errors.ts';
import { startTime } from '../host-process.ts';

const known = ['runsc', 'runc', 'crun'];

/** A program that runs containers from a bundle, by the OCI runtime specification. */
export interface OciProgram {
  readonly program: string;
  /** Whether it has its own kernel, like gVisor. */
  readonly isGvisor: boolean;
  /** For display: "runc 1.1.5". */
  readonly version: string;
}

/** Where `geode runtime install` puts programs. */
export function programsFolder(stateDir: string): string {
  return join(stateDir, 'programs');
}

/** The program to use; `undefined` if it is not installed. */
export async function findProgram(
  wanted: string,
  { path, stateDir }: { readonly path: string; readonly stateDir: string },
  signal: AbortSignal,
): Promise<OciProgram | undefined> {
  const built = wanted === 'auto' || wanted === 'runsc' ? [join(programsFolder(stateDir), 'runsc')] : [];
  for (const program of [...built, ...(wanted === 'auto' ? known : [wanted])]) {
    const answer = await promisify(execFile)(program, ['--version'], { env: { PATH: path }, signal }).catch(
      () => undefined,
    );
    if (answer === undefined) continue;
    const isGvisor = /runsc/.test(answer.stdout);
    const version = /version:?\s+(?:release-)?(\S+)/.exec(answer.stdout)?.[1] ?? 'of an unknown version';
    return { program, isGvisor, version: `${isGvisor ? 'gVisor' : basename(program)} ${version}` };
  }
  return undefined;
}

export interface Start {
  readonly program: string;
  readonly args: readonly string[];
  readonly path: string;
  /** Where the container's first process writes its stderr. */
  readonly wordsFile: string;
  /** Control groups that the program joins before it starts. */
  readonly joinCgroups: readonly string[];
  readonly pidFile: string;
  /** Shell words that prepare a mount namespace of its own, with `$1` and so on from `prepareWith`. */
  readonly prepare?: { readonly script: string; readonly words: readonly string[] } | undefined;
  readonly signal: AbortSignal;
}

const launcher = `
groups=$1; shift
while [ "$groups" -gt 0 ]; do echo $$ > "$1/cgroup.procs" || exit 98; shift; groups=$((groups - 1)); done
exec "$@"`;

/** Starts a container that outlives this host. The handle identifies its first process permanently. */
export async function startContainer(start: Start): Promise<string> {
  const { program, args, path, wordsFile, joinCgroups, pidFile, prepare, signal } = start;
  const words = await open(wordsFile, 'w', 0o600);
  const command =
    prepare === undefined
      ? [program, ...args]
      : [
          'unshare',
          '--mount',
          // A disk that the host unmounts must not stay mounted here.
          '--propagation',
          'slave',
          'sh',
          '-c',
          `${prepare.script}\nshift ${prepare.words.length}\nexec "$@"`,
          'sh',
          ...prepare.words,
          program,
          ...args,
        ];
  const child = spawn(
    '/bin/sh',
    ['-c', launcher, 'sh', String(joinCgroups.length), ...joinCgroups, ...command],
    {
      cwd: '/',
      env: { PATH: path },
      detached: true,
      stdio: ['ignore', words.fd, words.fd],
      signal,
      killSignal: 'SIGKILL',
    },
  );
  const [code] = await once(child, 'close').finally(() => words.close());
  const pid = code === 0 ? Number(await readFile(pidFile, 'utf8')) : undefined;
  if (pid === undefined) {
    const errorText = (await readFile(wordsFile, 'utf8').catch(() => '')).trim().slice(-500);
    throw new GeodeError(
      'engine_failed',
      `${basename(program)} could not start the container: ${errorText || `exit ${code}`}.`,
    );
  }
  return `${pid}:${(await startTime(pid)) ?? 'ended'}`;
}

/** Runs a short command of the program. An unknown container is no error. */
export async function runQuietly(
  program: string,
  args: readonly string[],
  path: string,
  signal: AbortSignal,
): Promise<void> {
  await promisify(execFile)(program, [...args], { env: { PATH: path }, signal }).catch(() => {});
}
