import { isGeodeError } from '../../../base/errors.ts';
import type { RemoteCommand, RemoteSandbox } from '../../../client/sandbox.ts';
import type { Command } from '../../../seams/process.ts';
import { type CliCommand, type CliContext, exitCodes, interruptedCode } from '../../command.ts';
import { connectHost, hostingOptions } from '../../hosting.ts';
import { envFrom, exitCodeOf, sandboxOptions, timeoutFrom } from '../../input/sandbox-options.ts';
import { wrongUsage } from '../../input/values.ts';
import { explainExit, type OnInterrupt } from '../../render/show-process.ts';
import { orNotRun, passThrough, stdinOf } from '../../run-command.ts';
import { hasTerminal, terminalSize } from '../../streams.ts';

const { env } = sandboxOptions;

export const sandboxExecCommand: CliCommand = {
  name: 'sandbox exec',
  summary: 'Run a command in a sandbox',
  usage: '[OPTION …] [USER/]CHAT -- COMMAND [ARGUMENT …]',
  examples: [
    ['geode sandbox exec demo -- ls -l', 'passes stdin, output and exit code through; Ctrl-C stops it'],
    [
      'geode sandbox exec --background demo -- python3 -m http.server',
      'prints its id and returns; see geode sandbox logs and ps',
    ],
    ['geode sandbox exec --pty demo -- top', 'runs in a terminal; Ctrl-P Ctrl-Q detaches'],
  ],
  options: {
    ...hostingOptions,
    background: {
      type: 'boolean',
      short: 'b',
      description: 'run in the background and print the process id',
    },
    pty: { type: 'boolean', short: 't', description: 'run in a terminal' },
    interactive: {
      type: 'boolean',
      short: 'i',
      description: 'pass the keyboard to the command (a pipe is always passed)',
    },
    undoable: {
      type: 'boolean',
      description: 'save the files first, for geode sandbox undo',
    },
    env,
    cwd: { type: 'string', value: 'FOLDER', description: 'working directory (default: the workspace)' },
    timeout: {
      type: 'string',
      value: 'SECONDS',
      description:
        'kill the command after this time (default 60; with --background or --pty never; 0: never)',
    },
  },
  async run(context) {
    const [word, program, ...rest] = context.positionals;
    if (word === undefined || program === undefined)
      throw wrongUsage('Name one sandbox, and give the command after --');
    const command = commandFrom([program, ...rest], context);
    return orNotRun(context, async () => {
      await using host = await connectHost(context);
      const chat = await host.chat(word);
      return await chat.within((sandbox) => runIn(sandbox, command, context));
    });
  },
};

async function runIn(sandbox: RemoteSandbox, command: RemoteCommand, context: CliContext): Promise<number> {
  const { values, signal, streams } = context;
  if (values.background === true) return startIn(sandbox, command, context);
  if (command.pty !== undefined && hasTerminal(streams)) return runInTerminal(sandbox, command, context);
  const stdin = stdinOf(streams, values.interactive === true ? 'always' : 'pipes');
  const running = await sandbox.run(
    { ...command, interactive: stdin !== undefined },
    { onDisconnect: 'leave', opening: signal },
  );
  try {
    return await passThrough(running, context, { stdin, onInterrupt });
  } catch (error) {
    // A host that stops in good order leaves it running.
    if (isGeodeError(error, 'stopping')) return interruptedCode('SIGTERM');
    throw error;
  } finally {
    running.close();
  }
}

/**
 * Ctrl-C is for the command, and so is a reader that goes away, as on a pipe; who ends this program, to take over the
 * sandboxes say, leaves it running.
 */
const onInterrupt: OnInterrupt = (reason) => (reason === 'SIGINT' || reason === 'SIGPIPE' ? 'kill' : 'leave');

function commandFrom(argv: Command['argv'], { values, machine, streams }: CliContext): RemoteCommand {
  const { background, pty, cwd, undoable } = values;
  const isLong = background === true || pty === true;
  return {
    argv,
    env: envFrom(values, machine),
    timeoutMs: timeoutFrom({ ...(isLong ? { timeout: '0' } : {}), ...values }),
    ...(typeof cwd === 'string' ? { cwd } : {}),
    ...(pty === true ? { pty: terminalSize(streams) } : {}),
    ...(undoable === true ? { undoable } : {}),
  };
}

async function startIn(
  sandbox: RemoteSandbox,
  command: RemoteCommand,
  { signal, json, out }: CliContext,
): Promise<number> {
  const { id, pid, sandboxId } = await sandbox.spawn(command, { signal });
  out(json ? JSON.stringify({ processId: id, pid, sandbox: sandboxId }) : id);
  return exitCodes.done;
}

async function runInTerminal(
  sandbox: RemoteSandbox,
  command: RemoteCommand,
  context: CliContext,
): Promise<number> {
  const { joinTerminal } = await import('../../terminal/terminal-session.ts');
  const { id } = await sandbox.spawn(command, { signal: context.signal });
  const left = await joinTerminal(await sandbox.join(id, { opening: context.signal }), context);
  if (left.type === 'interrupted') return interruptedCode(left.reason);
  if (left.type === 'detached') {
    context.err(`detached from ${id}; it keeps running`);
    return exitCodes.done;
  }
  explainExit(left.exit, context);
  return exitCodeOf(left.exit);
}
