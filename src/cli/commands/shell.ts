import { GeodeError } from '../../base/errors.ts';
import type { RemoteSandbox } from '../../client/sandbox.ts';
import type { SocketProcess } from '../../client/socket-process.ts';
import type { SandboxStatus } from '../../seams/persistent.ts';
import type { ProcessFacts } from '../../seams/process.ts';
import { type CliCommand, type CliContext, exitCodes, interruptedCode, text } from '../command.ts';
import { connectHost, type HostedChat, hostingOptions } from '../hosting.ts';
import { shownName } from '../input/chat-name.ts';
import { envFrom, exitCodeOf } from '../input/sandbox-options.ts';
import { wrongUsage } from '../input/values.ts';
import { agoText } from '../render/ages.ts';
import { printableLine } from '../render/printable.ts';
import { explainExit } from '../render/show-process.ts';
import { table } from '../render/table.ts';
import { orNotRun } from '../run-command.ts';
import { hasTerminal, terminalSize } from '../streams.ts';
import { joinTerminal, type TerminalEnd } from '../terminal/terminal-session.ts';
import { creationFrom, creationOptions, makeIn } from './sandbox/create.ts';

const { env: _, ...making } = creationOptions;
const shells = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'] as const;
/** Works in every terminal emulator that may attach later. */
const terminalKind = 'xterm-256color';

export const shellCommand: CliCommand = {
  name: 'shell',
  summary: 'Open a terminal in a sandbox',
  usage: '[OPTION …] [[USER/]CHAT] [-- COMMAND [ARGUMENT …]]',
  examples: [
    ['geode shell demo', 'joins the running shell or starts one; creates the sandbox if needed'],
    ['(keys) Ctrl-P Ctrl-Q', 'detaches; every other key goes to the shell, Ctrl-C too'],
    ['geode shell --new demo -- python3', 'starts another terminal with another program'],
    ['geode shell --list demo', 'lists running terminals'],
  ],
  options: {
    ...hostingOptions,
    new: { type: 'boolean', short: 'n', description: 'start another terminal' },
    list: { type: 'boolean', short: 'l', description: 'list the running terminals' },
    process: {
      type: 'string',
      short: 'p',
      value: 'ID',
      description: 'join this terminal (default: the newest)',
    },
    env: { ...creationOptions.env, description: 'a variable of the new shell; may be repeated' },
    ...making,
  },
  async run(context) {
    const { values, positionals, json } = context;
    const [word = 'default', ...argv] = positionals;
    if (values.list === true) return list(word, context);
    if (json) throw wrongUsage('--json goes with --list only');
    if (!hasTerminal(context.streams)) {
      throw new GeodeError('invalid_input', 'geode shell needs a terminal, and stdin or stdout is not one.', {
        hint: 'Run a command without a terminal: geode sandbox exec CHAT -- COMMAND',
        details: { usage: true },
      });
    }
    return orNotRun(context, async () => {
      await using host = await connectHost(context);
      const chat = await host.chat(word);
      const { env: _, ...spec } = await creationFrom(context);
      const status = await makeIn(chat, spec, context);
      const running = await chat.within((sandbox) => terminalIn(sandbox, status, argv, context));
      return reportLeft(await joinTerminal(running, context), chat, context);
    });
  },
};

async function list(word: string, context: CliContext): Promise<number> {
  const { json, out } = context;
  await using host = await connectHost(context);
  const chat = await host.chat(word);
  const { state } = await chat.ask((own, name) => own.inspect(name));
  const terminals = state === 'running' || state === 'unknown' ? await chat.within(terminalsIn) : [];
  if (json) out(JSON.stringify({ terminals }));
  else if (terminals.length === 0) out(`No terminal is running in ${shownName(chat.name)}.`);
  else
    for (const line of table([
      ['PROCESS', 'STARTED', 'SIZE', 'COMMAND'],
      ...terminals.map(({ id, startedAt, terminal, argv }) => [
        id,
        agoText(startedAt),
        `${terminal?.columns}x${terminal?.rows}`,
        printableLine(argv.join(' ')),
      ]),
    ]))
      out(line);
  return exitCodes.done;
}

/** Newest first. */
async function terminalsIn(sandbox: RemoteSandbox): Promise<readonly ProcessFacts[]> {
  const { processes } = await sandbox.processes();
  return processes
    .filter(({ state, terminal }) => state === 'running' && terminal !== null)
    .sort((a, b) => b.startedAt - a.startedAt);
}

async function terminalIn(
  sandbox: RemoteSandbox,
  status: SandboxStatus,
  argv: readonly string[],
  context: CliContext,
): Promise<SocketProcess> {
  const { values, signal, streams } = context;
  const wanted = text(values, 'process');
  const isNew = values.new === true || (argv.length > 0 && wanted === undefined);
  const known = isNew ? [] : await terminalsIn(sandbox);
  const found = known.find(({ id }) => wanted === undefined || id === wanted);
  if (found !== undefined) return sandbox.join(found.id, { size: terminalSize(streams), opening: signal });
  if (wanted !== undefined) {
    throw new GeodeError('process_not_found', `There is no running terminal ${wanted} in this sandbox.`, {
      hint: 'List the running terminals: geode shell --list CHAT',
    });
  }
  return start(sandbox, status, argv, context);
}

async function start(
  sandbox: RemoteSandbox,
  status: SandboxStatus,
  [program, ...rest]: readonly string[],
  { values, machine, signal, err, streams }: CliContext,
): Promise<SocketProcess> {
  err(
    `sandbox ${shownName(status)}: runtime ${status.runtime}, isolation grade ${status.grade}; Ctrl-P Ctrl-Q detaches`,
  );
  const { id } = await sandbox.spawn(
    {
      argv: program === undefined ? [await shellOf(sandbox)] : [program, ...rest],
      env: { TERM: terminalKind, ...envFrom(values, machine) },
      pty: terminalSize(streams),
      timeoutMs: null,
    },
    { signal },
  );
  return sandbox.join(id, { opening: signal });
}

/** The first of the preferred shells that the image has; otherwise `/bin/sh`. */
async function shellOf({ rootFiles }: RemoteSandbox): Promise<string> {
  for (const path of shells) if (await rootFiles.exists(path)) return path;
  return '/bin/sh';
}

function reportLeft(left: TerminalEnd, { name }: HostedChat, context: CliContext): number {
  if (left.type === 'ended') {
    explainExit(left.exit, context);
    return exitCodeOf(left.exit);
  }
  context.err(`\ndetached; geode shell ${shownName(name)} attaches again`);
  return left.type === 'detached' ? exitCodes.done : interruptedCode(left.reason);
}
