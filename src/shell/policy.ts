import { defaultShellPolicy, type ShellPolicy } from '../seams/shell-policy.ts';
import { unknown } from './frame.ts';
import { Budget, policyLimits } from './limits.ts';
import { CommandRefusal, type CommandVerdict, excerpt, type RuleName, ruleHints } from './verdict.ts';
import { runText } from './walk.ts';

/** Checks one command. Never throws: refuses a command that it cannot check completely. */
export function judge(command: string, policy: ShellPolicy = defaultShellPolicy): CommandVerdict {
  if (policy.mode === 'permissive') return { allowed: true };
  try {
    inspect(command, policy);
    return { allowed: true };
  } catch (thrown) {
    if (thrown instanceof CommandRefusal) return blocked(thrown.rule, thrown.message, thrown.at);
    // Stack overflow or a defect: an unchecked command does not run.
    return blocked('too-complex', 'The command is too complex to check.', command);
  }
}

function inspect(command: string, given: ShellPolicy): void {
  if (Buffer.byteLength(command) > policyLimits.commandBytes) {
    throw new CommandRefusal(
      'too-long',
      `The command is longer than ${policyLimits.commandBytes / 1024} KiB.`,
      command,
    );
  }
  const policy = { workspace: '/workspace', home: '/root', ...given };
  // The command must not contain the placeholder for unknown text.
  const script = command.replaceAll(unknown, '\uFFFD');
  runText(script, {
    policy,
    budget: new Budget(),
    depth: 0,
    script,
    at: script,
    input: {},
    place: { folder: policy.workspace },
    functions: new Set(),
  });
}

function blocked(rule: RuleName, reason: string, at: string): CommandVerdict {
  return { allowed: false, rule, reason, hint: ruleHints[rule], at: excerpt(at) };
}
