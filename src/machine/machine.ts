import { homedir, tmpdir, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** The machine as this process found it. The only reader of the environment and the platform. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  readonly uid: number;
  readonly gid: number;
  /** The umask: permissions that new files do not get. */
  readonly umask: number;
  /** The name that this user logs in by. */
  readonly user: string;
  readonly home: string;
  readonly path: string;
  /** Only the `GEODE_…` variables of the environment. */
  readonly overrides: Readonly<Record<string, string>>;
  /** For programs that work for this user as this one does. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The value of one environment variable. */
  variable(name: string): string | undefined;
  /** DOCKER_HOST, which other programs use too. */
  readonly dockerHost: string | undefined;
  readonly configDir: string;
  readonly stateDir: string;
  /** Folder of further versions of Geode. */
  readonly dataDir: string;
  /** Folder for files that can be downloaded again. */
  readonly cacheDir: string;
  readonly runDir: string;
}

export function thisMachine(env: NodeJS.ProcessEnv = process.env): Machine {
  const home = homeOf(env);
  const uid = process.getuid?.() ?? 0;
  return {
    platform: process.platform,
    arch: process.arch,
    uid,
    gid: process.getgid?.() ?? 0,
    umask: process.umask(),
    user: loginName(env, uid),
    home,
    path: env.PATH || '/usr/local/bin:/usr/bin:/bin',
    overrides: overridesIn(env),
    environment: env,
    variable: (name) => env[name],
    dockerHost: env.DOCKER_HOST || undefined,
    configDir: join(absolute(env.XDG_CONFIG_HOME) ?? join(home, '.config'), 'geode'),
    stateDir: join(absolute(env.XDG_STATE_HOME) ?? join(home, '.local', 'state'), 'geode'),
    dataDir: join(absolute(env.XDG_DATA_HOME) ?? join(home, '.local', 'share'), 'geode'),
    cacheDir: join(absolute(env.XDG_CACHE_HOME) ?? join(home, '.cache'), 'geode'),
    runDir: runDir(env, uid),
  };
}

/** Returns '' if the user has no home folder. */
function homeOf(env: NodeJS.ProcessEnv): string {
  try {
    return env.HOME || homedir();
  } catch {
    return '';
  }
}

/** The XDG standard ignores relative paths. */
function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

/** A container may run as a user id without an account. */
function loginName(env: NodeJS.ProcessEnv, uid: number): string {
  try {
    return userInfo().username;
  } catch {
    return env.USER || `uid-${uid}`;
  }
}

function overridesIn(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const pairs = Object.entries(env).flatMap(([name, value]) =>
    name.startsWith('GEODE_') && value !== undefined ? [[name, value] as const] : [],
  );
  return Object.fromEntries(pairs);
}

/** Short, because socket paths are limited: the system's runtime folder, or the temporary one. */
function runDir(env: NodeJS.ProcessEnv, uid: number): string {
  const given = absolute(env.XDG_RUNTIME_DIR);
  if (given !== undefined) return join(given, 'geode');
  return uid === 0 && process.platform === 'linux' ? '/run/geode' : join(tmpdir(), `geode-${uid}`);
}
