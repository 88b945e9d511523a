import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { PersistentSandbox } from '../seams/persistent.ts';
import type { Command } from '../seams/process.ts';
import type { AttachedSandbox } from './attached-sandbox.ts';
import type { SandboxRow } from './sandbox-table.ts';

/** A caller's handle: the sandbox while it runs, with the owner's variables in every command. */
export function handleOf({ user, chat, spec }: SandboxRow, held: AttachedSandbox): PersistentSandbox {
  const { sandbox, snapshots } = held;
  const mark = async (cancel: Cancel) => {
    if (snapshots !== undefined) await snapshots.mark({ signal: cancel.signal });
    else
      throw new GeodeError(
        'cannot_enforce',
        `The files of sandbox ${id} are not on this host, so changes cannot be undone.`,
      );
  };
  const { id, runtime, grade, limits, softLimits, workdir, files, rootFiles, journals, env, tools } = sandbox;
  const inside = (command: Command): Command => {
    const added = { ...held.hatch?.env, ...spec.env, ...held.toolEnv() };
    return Object.keys(added).length === 0 ? command : { ...command, env: { ...added, ...command.env } };
  };
  return {
    user,
    chat,
    id,
    runtime,
    grade,
    limits,
    softLimits,
    workdir,
    files,
    rootFiles,
    journals,
    env,
    ...(tools && { tools }),
    get activity() {
      return sandbox.activity;
    },
    get end() {
      return sandbox.end;
    },
    ...(snapshots === undefined ? {} : { snapshots }),
    async exec(command, { undoable = false, ...options } = {}) {
      if (undoable) await mark(options);
      return held.exec(inside(command), options);
    },
    spawn: (command, options) => held.spawn(inside(command), options),
    attach: (processId, options) => held.attach(processId, options),
    processes: (options) => sandbox.processes(options),
    signal: (processId, name, options) => sandbox.signal(processId, name, options),
    tunnel: (port, options) => sandbox.tunnel(port, options),
    metrics: (options) => sandbox.metrics(options),
    denials: (since) => sandbox.hatch?.denials(since) ?? [],
  };
}
