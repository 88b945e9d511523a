import { defaultShellPolicy, type ShellPolicy } from '../core/shell-policy.ts';
import { Choices } from './choices.ts';
import type { Frame } from './frame.ts';
import { Budget, limits } from './limits.ts';
import { Scope } from './scope.ts';
import { Unknowns, withoutMarks } from './unknowns.ts';
import { excerpt, Refusal, type RuleName, ruleHints, type Verdict } from './verdict.ts';
import { shell } from './walk.ts';

/** Judges one command. Never throws; what cannot be looked at in full is refused. */
export function judge(command: string, policy: ShellPolicy = defaultShellPolicy): Verdict {
  if (policy.mode === 'permissive') return { allowed: true };
  try {
    inspect(command, policy);
    return { allowed: true };
  } catch (thrown) {
    if (thrown instanceof Refusal) return blocked(thrown.rule, thrown.message, thrown.at);
    // Running out of stack, or a defect: what was not looked at does not run.
    return blocked('too-complex', 'The command cannot be looked at in full.', command);
  }
}

function inspect(command: string, given: ShellPolicy): void {
  if (Buffer.byteLength(command) > limits.commandBytes) {
    throw new Refusal('too-long', `The command is longer than ${limits.commandBytes / 1024} KiB.`, command);
  }
  const policy = { workspace: '/workspace', home: '/root', variables: {}, ...given };
  const source = withoutMarks(command);
  const unknowns = new Unknowns();
  const frame: Frame = {
    shell,
    inspection: {
      policy,
      budget: new Budget(),
      unknowns,
      files: new Map(),
      links: new Map(),
      traps: [],
      spawns: new Map(),
    },
    scope: environment(policy),
    choices: new Choices(),
    dialect: 'sh',
    source,
    stdin: unknowns.mark('unknown', 'input'),
    at: source,
    depth: 0,
    sinks: [],
  };
  shell.runText(source, frame);
  // By then every variable has its last value.
  for (const trap of frame.inspection.traps) shell.runText(trap.text, trap.frame);
}

/** What is set before the command starts. */
function environment({ home, variables }: Required<ShellPolicy>): Scope {
  const scope = new Scope();
  const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  // Only some shells set these by themselves.
  scope.set('SHELL', ['/bin/sh'], ['']);
  scope.set('BASH', ['/bin/bash'], ['']);
  for (const [name, value] of Object.entries({ PATH: path, HOME: home, ...variables })) {
    scope.set(name, [withoutMarks(value)]);
  }
  return scope;
}

function blocked(rule: RuleName, reason: string, at: string): Verdict {
  return { allowed: false, rule, reason, hint: ruleHints[rule], at: excerpt(at) };
}

/** One sentence for status: what the policy does, loud where it does nothing. */
export function describePolicy(policy: ShellPolicy): string {
  switch (policy.mode) {
    case 'standard':
      return 'standard: commands that destroy the system, open it up or read keys are refused';
    case 'strict':
      return `strict: only ${policy.programs.length} listed programs run, and none of them dangerously`;
    case 'permissive':
      return 'permissive: OFF, every command runs and only the sandbox protects';
  }
}
