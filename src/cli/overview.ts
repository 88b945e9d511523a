/** `geode` alone: where one stands, and the next commands. */
import { asTyped } from './as-typed.ts';
import { type CliCommand, exitCodes } from './command.ts';
import { gatherStatus, type StatusFacts } from './connect/gather-status.ts';
import { version } from './version.ts';

export const overviewCommand: CliCommand = {
  name: '',
  summary: 'Show where you stand, and what to try next',
  usage: '[COMMAND …]',
  examples: [],
  options: {},
  async run(context) {
    const facts = await gatherStatus(context);
    if (context.json) context.out(JSON.stringify(facts, null, 2));
    else for (const line of overviewOf(facts)) context.out(asTyped(line, context.machine));
    return exitCodes.done;
  },
};

function overviewOf(facts: StatusFacts): readonly string[] {
  const { host, sandboxes, providers, approvals } = facts;
  const running = sandboxes.filter(({ state }) => state === 'running').length;
  return [
    `Geode ${version}: sealed sandboxes for AI agents on this machine`,
    '',
    row('Isolation', isolationOf(facts)),
    row(
      'Host',
      host === null ? 'not running; it starts when a command needs it' : `running, process ${host.pid}`,
    ),
    row(
      'Sandboxes',
      sandboxes.length === 0 ? 'none' : `${running} running, ${sandboxes.length - running} not`,
    ),
    row('Model', providers.default ?? 'not set: geode onboard'),
    ...(approvals.length === 0 ? [] : [row('Approvals', `${approvals.length} waiting: geode approvals`)]),
    '',
    "Try   geode run python -c 'print(6*7)'",
    `      geode ${sandboxes.length === 0 ? 'sandbox create demo' : 'sandbox ls'}`,
    '      geode dashboard',
    '',
    'All commands: geode --help',
  ];
}

function isolationOf({ runtime, runtimes }: StatusFacts): string {
  const chosen = runtimes.find(({ name }) => name === runtime);
  if (chosen?.available === true) return `${chosen.name} (${chosen.grade})`;
  return 'none works here: geode doctor';
}

function row(name: string, text: string): string {
  return `  ${name.padEnd(11)} ${text}`;
}
