/** Turns words of a user into policies, and applies `allow` and `deny` to a policy. */

import { GeodeError } from '../../base/errors.ts';
import { parseRules, shownRule } from '../../contract/egress-rules.ts';
import type { EgressPolicy, EgressRule } from '../../seams/egress.ts';

/** A rule, or a short form: `npm`, `*.example.com:8443`. `*` among the allowed ones means everything public. */
export type RuleWord = string | EgressRule;

export interface PolicyWords extends Pick<EgressPolicy, 'bridges'> {
  /** Default: follows from the allowed rules. */
  readonly mode?: EgressPolicy['mode'];
  readonly allow?: readonly RuleWord[];
  readonly deny?: readonly RuleWord[];
}

export function policyFrom({ mode, allow = [], deny = [], bridges = [] }: PolicyWords): EgressPolicy {
  const isOpen = allow.includes('*');
  const rules = rulesOf(allow);
  if (isOpen && mode !== undefined && mode !== 'allow-all')
    throw new GeodeError('invalid_input', `The rule * means allow-all, but the mode is ${mode}.`);
  const meant = isOpen ? 'allow-all' : rules.length === 0 ? 'deny-all' : 'allow-list';
  return {
    mode: mode ?? meant,
    allow: rules,
    deny: rulesOf(deny),
    ...(bridges.length > 0 && { bridges }),
  };
}

/** Allowing a rule removes the identical deny rule. */
export function allowing(
  policy: EgressPolicy,
  words: readonly RuleWord[],
  until: number | undefined,
): EgressPolicy {
  const rules = rulesOf(words);
  const mode = words.includes('*') ? 'allow-all' : policy.mode === 'deny-all' ? 'allow-list' : policy.mode;
  return {
    ...policy,
    mode,
    allow: [
      ...without(policy.allow, rules).filter((rule) => !isOutdone(rule, rules)),
      ...ending(rules, until),
    ],
    deny: without(policy.deny, rules),
  };
}

/** Allowing a whole host ends the TLS inspection that rules for some of its paths needed. */
function isOutdone(rule: EgressRule, given: readonly EgressRule[]): boolean {
  return given.some(
    ({ host, ports, methods, paths, inspect }) =>
      rule.inspect === true &&
      inspect !== true &&
      host === rule.host &&
      methods === undefined &&
      paths === undefined &&
      (ports === undefined || (rule.ports ?? [80, 443]).every((port) => ports.includes(port))),
  );
}

/** `*`: nothing is allowed any more. A rule with an end denies until then, and earlier permissions stay removed. */
export function denying(policy: EgressPolicy, words: readonly RuleWord[], until?: number): EgressPolicy {
  if (words.includes('*')) return { ...policy, mode: 'deny-all', allow: [] };
  const rules = rulesOf(words);
  return {
    ...policy,
    allow: without(policy.allow, rules),
    deny: [...without(policy.deny, rules), ...ending(rules, until)],
  };
}

/** Adds these deny rules, each only once. */
export function alsoDenying(policy: EgressPolicy, rules: readonly EgressRule[]): EgressPolicy {
  return { ...policy, deny: [...rules, ...without(policy.deny, rules)] };
}

function rulesOf(words: readonly RuleWord[]): readonly EgressRule[] {
  return words.flatMap((word) => (typeof word !== 'string' ? [word] : word === '*' ? [] : parseRules(word)));
}

function ending(rules: readonly EgressRule[], until: number | undefined): readonly EgressRule[] {
  return until === undefined ? rules : rules.map((rule) => ({ ...rule, until }));
}

function without(rules: readonly EgressRule[], taken: readonly EgressRule[]): readonly EgressRule[] {
  const names = new Set(taken.map(shownRule));
  return rules.filter((rule) => !names.has(shownRule(rule)));
}
