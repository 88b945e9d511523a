import { socketDialer } from '../../link/dial.ts';
import type { Runtime } from '../../seams/runtime.ts';
import { findGuest } from '../guest-binary.ts';
import { endProcess, livenessOf, startDetached } from '../host-process.ts';
import { checkOpenFiles } from '../open-files.ts';
import type { RuntimeOptions } from '../options.ts';
import { endRemainingProcesses } from '../remaining-processes.ts';
import { runtimeOf } from '../runtime-of.ts';
import { firstLeaseMs } from '../spec.ts';

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** No walls at all: the guest runs as this user on this machine. For trusted code, and for tests. */
export function nativeRuntime(options: RuntimeOptions): Runtime {
  return runtimeOf(
    {
      name: 'native',
      scratch: (room) => room.runFolder,
      async probe() {
        if (options.platform !== 'linux') {
          return {
            available: false,
            reason: 'the guest runs on Linux only',
            fix: 'Use the docker or apple runtime.',
          };
        }
        const guest = await findGuest(options);
        if (guest.missing !== undefined) return { available: false, reason: guest.missing, fix: guest.fix };
        return {
          available: true,
          grade: 'none',
          version: 'this machine, without isolation',
          capabilities: {
            isolation: false,
            limits: { memory: false, cpus: false, pids: false, disk: false },
            softLimits: [],
            images: false,
            networks: [],
            mounts: false,
            users: options.uid === 0 ? 'always' : 'never',
            adoption: true,
            pause: false,
            checkpoints: false,
          },
        };
      },
      async plan(room, spec) {
        await checkOpenFiles('native', options, spec);
        const env = { PATH: path, HOME: room.workspace, LANG: 'C.UTF-8', ...spec.env };
        const user = { uid: options.uid, gid: options.gid };
        return { handle: '', grade: 'none', workdir: room.workspace, env, user };
      },
      async build(room, spec) {
        const guest = await findGuest(options);
        const args = ['init', '--dial', room.socket, '--lease', String(firstLeaseMs)];
        return {
          handle: await startDetached({
            program: guest.path,
            args,
            cwd: room.workspace,
            env: { PATH: path },
            wordsFile: room.words,
            openFiles: spec.limits.openFiles ?? undefined,
          }),
        };
      },
      dialer: (room) => socketDialer(room.socket),
      liveness: (room, handle) => livenessOf(handle, room.words),
      async destroy(room, handle) {
        // Only a guest that was asked has ended its children; nothing else ties them together.
        if (!(await endProcess(handle))) await endRemainingProcesses(room);
      },
    },
    options,
  );
}
