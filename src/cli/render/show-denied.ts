import { shownTarget } from '../../contract/host-name.ts';
import type { Denial } from '../../seams/egress.ts';
import type { CliContext } from '../command.ts';

/** The modes in which a request is refused because no rule covers it. */
const uncovered: readonly string[] = ['deny-all', 'allow-list'];
const mostShown = 5;

/** Each refused target once, with its reason and the command that allows it. */
export function showDenied(
  denied: readonly Denial[],
  { err, commandName }: Pick<CliContext, 'err' | 'commandName'>,
): void {
  const targets = new Map(denied.map((denial) => [shownTarget(denial), denial]));
  const shown = [...targets].slice(0, mostShown);
  for (const [target, denial] of shown) {
    err(`Blocked: ${target} (${reasonOf(target, denial)})`);
    if (denial.ask !== '') err(`  ${allowText(denial.ask, commandName)}`);
  }
  if (targets.size > shown.length)
    err(`and ${targets.size - shown.length} more hosts: geode egress log --denied`);
}

function reasonOf(target: string, { rule, reason }: Denial): string {
  if (uncovered.includes(rule)) return 'no rule allows it';
  return reason.startsWith(target) ? reason.slice(target.length).replace(/^:?\s+/, '') : reason;
}

/** A run has no name, so its request is allowed by an option of the same command. */
function allowText(ask: string, commandName: string): string {
  return ask.startsWith('--') ? `Allow it for this run: geode ${commandName} ${ask} …` : `Allow it: ${ask}`;
}
