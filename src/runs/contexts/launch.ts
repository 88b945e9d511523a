import type { Cancel } from '../../base/cancel.ts';
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import type { Process } from '../../seams/process.ts';
import type { Workspace } from '../../seams/sandbox.ts';
import { type KernelSpec, kernelSource } from './languages.ts';
import type { ContextLimits } from './result.ts';

export interface InterpreterOptions {
  /** A path, or a name in the sandbox's PATH; default `python3` or `node`. */
  readonly program?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: string;
  readonly limits: ContextLimits;
  /** Time for exit handlers before it is killed. */
  readonly exitMs: number;
  /** Counts the interpreters of a context. */
  readonly number: number;
}

/** The process of an interpreter, which waits for its kernel on stdin. */
export async function launch(
  workspace: Workspace,
  spec: KernelSpec,
  options: InterpreterOptions,
  cancel: Cancel,
): Promise<Process> {
  const { bootstrap } = await kernelSource(spec);
  const { program = spec.program, cwd, env, user } = options;
  try {
    return await workspace.spawn(
      {
        argv: [program, ...spec.flags, bootstrap],
        interactive: true,
        timeoutMs: null,
        ...(cwd === undefined ? {} : { cwd }),
        ...(env === undefined ? {} : { env }),
        ...(user === undefined ? {} : { user }),
      },
      cancel,
    );
  } catch (error) {
    throw isGeodeError(error, 'spawn_failed') ? notStarted(spec, options, error.message, error) : error;
  }
}

export function notStarted(
  spec: KernelSpec,
  { program = spec.program }: InterpreterOptions,
  reason: string,
  cause: unknown,
): GeodeError {
  return new GeodeError('spawn_failed', `The ${spec.language} context cannot start ${program}: ${reason}`, {
    hint: `Use an image that has ${program} in its PATH, or name another program.`,
    cause,
  });
}
