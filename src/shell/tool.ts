import { z } from 'zod';
import { throwIfCancelled } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { ShellPolicy } from '../seams/shell-policy.ts';
import { type FinishedCommand, formatResult } from './format.ts';
import { judge } from './policy.ts';

/** Where the tool runs commands: only this part of the caller's sandbox. */
export interface ShellWorkspace<Result extends FinishedCommand = FinishedCommand> {
  exec(
    command: { readonly argv: readonly [string, ...string[]]; readonly timeoutMs?: number },
    options?: { readonly signal?: AbortSignal },
  ): Promise<Result>;
}

export const shellInput = z.strictObject({
  command: z.string().min(1).describe('The command, as /bin/sh reads it. It starts in the workspace.'),
  timeout: z
    .number()
    .positive()
    .max(600)
    .default(60)
    .describe('Seconds until the command and all it started are killed; at most 600.'),
});

export type ShellInput = z.input<typeof shellInput>;

export interface ShellOutput<Result extends FinishedCommand = FinishedCommand> {
  /** The result in the form for people and models. */
  readonly text: string;
  readonly result: Result;
}

/**
 * The shell tool: checks a command, runs it, reports the result. Throws `invalid_input` for an invalid command, and
 * `command_blocked` for one that the policy forbids; a failed command is a result.
 */
export function shellTool<Result extends FinishedCommand>(
  workspace: ShellWorkspace<Result>,
  policy: ShellPolicy,
) {
  return {
    name: 'shell',
    description: 'Runs a shell command in the sandbox and returns its output and exit code.',
    input: shellInput,
    run: async (
      input: ShellInput,
      options: { readonly signal?: AbortSignal } = {},
    ): Promise<ShellOutput<Result>> => {
      throwIfCancelled(options.signal, 'The command');
      const { command, timeout } = readInput(input);
      refuseBlocked(command, policy);
      const result = await workspace.exec(
        { argv: ['/bin/sh', '-c', command], timeoutMs: timeout * 1000 },
        options.signal === undefined ? {} : { signal: options.signal },
      );
      return { text: formatResult(result), result };
    },
  };
}

function readInput(input: unknown): z.output<typeof shellInput> {
  const read = shellInput.safeParse(input);
  if (read.success) return read.data;
  throw new GeodeError(
    'invalid_input',
    `The shell tool cannot use this input. ${z.prettifyError(read.error)}`,
  );
}

function refuseBlocked(command: string, policy: ShellPolicy): void {
  const verdict = judge(command, policy);
  if (verdict.allowed) return;
  const { rule, reason, hint, at } = verdict;
  throw new GeodeError('command_blocked', `The command policy refused \`${at}\` (${rule}): ${reason}`, {
    hint: `${hint} The policy is set by \`security.shell\` in the config.`,
    details: { rule, reason, at },
  });
}
