import { execFile, spawn } from 'node:child_process';
import { basename, dirname } from 'node:path';
import { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import { z } from 'zod';
import { GeodeError, reasonOf } from '../../base/errors.ts';
import { bridgeDialer } from '../../link/dial.ts';
import type { Liveness } from '../../link/watch.ts';
import type { Available, Runtime, Unavailable } from '../../seams/runtime.ts';
import { userName } from '../accounts.ts';
import { findGuest } from '../guest-binary.ts';
import { containerName, homeOf } from '../home.ts';
import { checkMounts } from '../mounts.ts';
import type { RuntimeOptions } from '../options.ts';
import { runtimeOf } from '../runtime-of.ts';
import { workdir } from '../spec.ts';
import { guestFolder, runArguments, socketPath, wholeCpus } from './arguments.ts';

/** The `apple` section of the config. */
export interface AppleOptions {
  readonly program: string;
  readonly defaultImage: string;
}

const callDeadlineMs = 60_000;
const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** A small virtual machine for each sandbox, started with Apple's `container` program. */
export function appleRuntime(options: RuntimeOptions, apple: AppleOptions): Runtime {
  const container = (args: readonly string[], signal?: AbortSignal) =>
    promisify(execFile)(apple.program, args, {
      signal,
      timeout: callDeadlineMs,
      env: { PATH: options.path },
    });
  // The virtual machine has this machine's processor architecture.
  const guest = () => findGuest(options);

  return runtimeOf(
    {
      name: 'apple',
      probe: (signal) => probe(options, (args) => container(args, signal)),

      async plan(room, spec) {
        await checkMounts(spec.mounts ?? [], options.mounts);
        if (spec.limits.cpus != null) wholeCpus(spec.limits.cpus);
        const user = { uid: options.uid, gid: options.gid };
        const env = { PATH: path, HOME: workdir, USER: userName(user), LANG: 'C.UTF-8', ...spec.env };
        return { handle: containerName(options, room.id), grade: 'kernel', workdir, env, user };
      },

      async build(room, spec, { handle, user }, signal) {
        const binary = (await guest()).path;
        const args = runArguments(
          {
            name: handle,
            image: spec.image ?? apple.defaultImage,
            user,
            labels: {
              'dev.geode.home': homeOf(options),
              'dev.geode.owner': spec.owner ?? '',
              'dev.geode.sandbox': room.id,
            },
            guestFolder: dirname(binary),
            guestName: basename(binary),
            workspace: room.workspace,
            mounts: await checkMounts(spec.mounts ?? [], options.mounts),
          },
          spec,
        );
        await container(args, signal).catch((error) => {
          throw new GeodeError('engine_failed', `\`container run\` failed: ${words(error)}`, {
            cause: error,
          });
        });
        return { handle };
      },

      dialer: (_room, handle) =>
        bridgeDialer(async () => {
          const bridge = [`${guestFolder}/${basename((await guest()).path)}`, 'bridge', socketPath];
          return programStream(apple.program, ['exec', '--interactive', handle, ...bridge], options.path);
        }),

      async liveness(_room, handle): Promise<Liveness> {
        const answer = await container(['inspect', handle]).catch((error) => ({ gone: words(error) }));
        if ('gone' in answer)
          return { alive: false, reason: `\`container inspect\` reports: ${answer.gone}` };
        const [facts] = inspectSchema.parse(JSON.parse(answer.stdout));
        if (facts === undefined) return { alive: false, reason: 'its container is gone' };
        return facts.status === 'running'
          ? { alive: true }
          : { alive: false, reason: `its container is ${facts.status}` };
      },

      async destroy(room, handle) {
        await container(['delete', '--force', handle || containerName(options, room.id)]).catch(() => {});
      },
    },
    options,
  );
}

const inspectSchema = z.array(z.object({ status: z.string() }));

type Run = (args: readonly string[]) => Promise<{ stdout: string }>;

async function probe(options: RuntimeOptions, container: Run): Promise<Available | Unavailable> {
  if (options.platform !== 'darwin') {
    return {
      available: false,
      reason: `Apple's container program is for macOS, this is ${options.platform}`,
      fix: 'Use docker or bubblewrap.',
    };
  }
  const guest = await findGuest(options);
  if (guest.missing !== undefined) return { available: false, reason: guest.missing, fix: guest.fix };
  const version = await container(['--version']).catch(() => undefined);
  if (version === undefined) {
    return {
      available: false,
      reason: 'the container program is not installed',
      fix: 'Install it from the releases of apple/container.',
    };
  }
  const down = await container(['system', 'status']).then(
    () => undefined,
    (error) => words(error),
  );
  if (down !== undefined) {
    return {
      available: false,
      reason: `its system service is not running (${down})`,
      fix: 'container system start',
    };
  }
  return {
    available: true,
    grade: 'kernel',
    version: version.stdout.trim(),
    capabilities: {
      isolation: true,
      limits: { memory: true, cpus: true, pids: false, disk: false },
      softLimits: [],
      images: true,
      networks: ['none'],
      mounts: true,
      users: 'never',
      adoption: true,
      pause: false,
      checkpoints: false,
    },
  };
}

/** A program's stdin and stdout as one stream. When the stream ends, the program ends, and the reverse. */
function programStream(program: string, args: readonly string[], searchPath: string): Duplex {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'], env: { PATH: searchPath } });
  const stream = Duplex.from({ readable: child.stdout, writable: child.stdin });
  child.once('error', (error) => stream.destroy(error));
  child.once('close', () => stream.destroy());
  stream.once('close', () => child.kill('SIGKILL'));
  stream.on('error', () => {});
  return stream;
}

function words(error: unknown): string {
  const message = (error as { stderr?: unknown } | undefined)?.stderr;
  return typeof message === 'string' && message.trim() !== '' ? message.trim() : reasonOf(error);
}
