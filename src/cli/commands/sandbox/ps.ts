import type { ChildFacts, ProcessFacts, ProcessList } from '../../../seams/process.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost, hostingOptions } from '../../hosting.ts';
import { shownName } from '../../input/chat-name.ts';
import { onePositional } from '../../input/values.ts';
import { agoText } from '../../render/ages.ts';
import { printableLine } from '../../render/printable.ts';
import { table } from '../../render/table.ts';

export const sandboxPsCommand: CliCommand = {
  name: 'sandbox ps',
  summary: 'List the processes of a sandbox',
  usage: '[OPTION …] [USER/]CHAT',
  examples: [
    ['geode sandbox ps demo', 'lists the ids for geode sandbox logs'],
    ['geode sandbox ps --json alice/demo', 'as JSON'],
  ],
  options: hostingOptions,
  async run(context) {
    const { json, out, signal } = context;
    const word = onePositional(context, '[USER/]CHAT');
    await using host = await connectHost(context, { reads: true });
    const chat = await host.chat(word);
    // To look into a sandbox is no reason to start or resume it.
    const { state } = await chat.ask((own, name) => own.inspect(name, { signal }));
    const isRunning = state === 'running' || state === 'unknown';
    const list = isRunning ? await chat.within((sandbox) => sandbox.processes({ signal })) : nothing;
    if (json) out(JSON.stringify(list));
    else if (!isRunning) out(`${shownName(chat.name)} is ${state}; it has no processes.`);
    else for (const line of tree(list)) out(line);
    return exitCodes.done;
  },
};

const nothing: ProcessList = { processes: [], disowned: [] };

function tree({ processes, disowned }: ProcessList): readonly string[] {
  const rows = processes.flatMap((process) => [rowOf(process), ...childRows(process.children, process.pid)]);
  const lost =
    disowned.length === 0 ? [] : [['(disowned)', '', '', '', ''], ...childRows(disowned, undefined)];
  return table([['PROCESS', 'PID', 'STATE', 'STARTED', 'COMMAND'], ...rows, ...lost]);
}

function rowOf({ id, pid, state, exit, terminal, startedAt, argv }: ProcessFacts): readonly string[] {
  const ended = exit === null ? state : (exit.signal ?? `exit ${exit.exitCode}`);
  const place = terminal !== null && exit === null ? `${state}, terminal` : ended;
  return [id, String(pid), place, agoText(startedAt), printableLine(argv.join(' '))];
}

/** Each process below its parent; processes without a listed parent are at the top. */
function childRows(
  children: readonly ChildFacts[],
  root: number | undefined,
): readonly (readonly string[])[] {
  const known = new Set(children.map(({ pid }) => pid));
  const isTop = ({ ppid }: ChildFacts) => (root === undefined ? !known.has(ppid) : ppid === root);
  const below = (child: ChildFacts, depth: number): readonly (readonly string[])[] => [
    ['', String(child.pid), '', '', `${'   '.repeat(depth)}└─ ${printableLine(child.command)}`],
    ...children.filter(({ ppid }) => ppid === child.pid).flatMap((next) => below(next, depth + 1)),
  ];
  return children.filter(isTop).flatMap((child) => below(child, 0));
}
