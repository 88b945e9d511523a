import type { PersistentSandbox } from '../../core/persistent.ts';
import type { Command } from '../../core/process.ts';
import { type CliCommand, type CliContext, exitCodes, interruptedCode } from '../command.ts';
import { becomeHost, hostingOptions } from '../hosting.ts';
import { orNotRun, runCommandIn, stdinOf } from '../run-command.ts';
import { envFrom, exitCodeOf, sandboxOptions, timeoutFrom } from '../sandbox-options.ts';
import { explainExit, type OnInterrupt } from '../show-process.ts';
import { snapshotsOf } from '../snapshots.ts';
import { hasTerminal, joinTerminal, terminalSize } from '../terminal-session.ts';
import { wrongUsage } from '../values.ts';

const { env } = sandboxOptions;

export const sandboxExecCommand: CliCommand = {
  name: 'sandbox exec',
  summary: 'run a command in a sandbox that stays',
  usage: '[OPTION …] [USER/]CHAT -- COMMAND [ARGUMENT …]',
  examples: [
    ['geode sandbox exec demo -- ls -l', 'stdin, output and exit code pass through; Ctrl-C ends it'],
    [
      'geode sandbox exec --background demo -- python3 -m http.server',
      'prints its id and goes on; see geode sandbox logs and ps',
    ],
    ['geode sandbox exec --pty demo -- top', 'in a terminal; Ctrl-P Ctrl-Q leaves it running'],
  ],
  options: {
    ...hostingOptions,
    background: {
      type: 'boolean',
      short: 'b',
      description: 'print the id of the process and leave it running',
    },
    pty: { type: 'boolean', short: 't', description: 'give it a terminal' },
    interactive: {
      type: 'boolean',
      short: 'i',
      description: 'pass on what is typed here too; a pipe always is',
    },
    undoable: {
      type: 'boolean',
      description: 'keep its files as they are now, for geode sandbox undo',
    },
    env,
    cwd: { type: 'string', value: 'FOLDER', description: 'where it starts; default: the workspace' },
    timeout: {
      type: 'string',
      value: 'SECONDS',
      description: 'kill it after that long (default 60; never with --background or --pty; 0: never)',
    },
  },
  host: 'needed',
  passesExitCode: true,
  async run(context) {
    const [word, program, ...rest] = context.positionals;
    if (word === undefined || program === undefined)
      throw wrongUsage('Give one [USER/]CHAT, and the command after --');
    const command = commandFrom([program, ...rest], context);
    return orNotRun(context, async () => {
      await using host = await becomeHost(context);
      const sandbox = await (await host.chat(word)).start();
      if (context.values.undoable === true) await snapshotsOf(sandbox).mark({ signal: context.signal });
      if (context.values.background === true) return await startIn(sandbox, command, context);
      if (command.pty === undefined || !hasTerminal(context.streams))
        return await runCommandIn(sandbox, command, context, onInterrupt);
      return await runInTerminal(sandbox, command, context);
    });
  },
};

/**
 * Ctrl-C is for the command, and so is a reader that goes away, as on a pipe; who ends this program, to take over the
 * sandboxes say, leaves it running.
 */
const onInterrupt: OnInterrupt = (reason) => (reason === 'SIGINT' || reason === 'SIGPIPE' ? 'kill' : 'leave');

function commandFrom(argv: Command['argv'], { values, host, streams }: CliContext): Command {
  const { background, pty, interactive, cwd } = values;
  const isLong = background === true || pty === true;
  const keys =
    pty === true && hasTerminal(streams) ? {} : stdinOf(streams, interactive === true ? 'always' : 'pipes');
  return {
    argv,
    env: envFrom(values, host),
    timeoutMs: timeoutFrom({ ...(isLong ? { timeout: '0' } : {}), ...values }),
    ...(typeof cwd === 'string' ? { cwd } : {}),
    ...(pty === true ? { pty: terminalSize(streams) } : {}),
    ...(background === true ? {} : keys),
  };
}

async function startIn(
  sandbox: PersistentSandbox,
  command: Command,
  { signal, json, out }: CliContext,
): Promise<number> {
  const { id, pid } = await sandbox.spawn(command, { signal });
  out(json ? JSON.stringify({ processId: id, pid, sandbox: sandbox.id }) : id);
  return exitCodes.done;
}

async function runInTerminal(
  sandbox: PersistentSandbox,
  command: Command,
  context: CliContext,
): Promise<number> {
  const running = await sandbox.spawn(command, { signal: context.signal });
  const left = await joinTerminal({ running, journal: sandbox.journals.open(running.id) }, context);
  if (left.type === 'interrupted') return interruptedCode(left.reason);
  if (left.type === 'detached') {
    context.err(`detached from ${running.id}, which goes on`);
    return exitCodes.done;
  }
  explainExit(left.exit, context);
  return exitCodeOf(left.exit);
}
