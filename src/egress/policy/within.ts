/** The intersection of two specs: everything that the result allows, both allow. */
import { isDeepStrictEqual } from 'node:util';
import type { BindingSpec, EgressPolicy, EgressRule, EgressSpec } from '../../seams/egress.ts';

const standardPorts: readonly number[] = [80, 443];

export function narrowedTo(spec: EgressSpec, bound: EgressSpec): EgressSpec {
  return {
    policy: policyWithin(spec.policy, bound.policy),
    bindings: spec.bindings.flatMap((binding) =>
      bound.bindings.flatMap((other) => bindingWithin(binding, other)),
    ),
  };
}

/**
 * Two policies with `ask` still ask. Otherwise a policy with `ask` counts as its rules only, because an answer for
 * one of them is no answer for the other.
 */
function policyWithin(one: EgressPolicy, other: EgressPolicy): EgressPolicy {
  const deny = unique([...other.deny, ...one.deny]);
  if (one.mode === 'deny-all' || other.mode === 'deny-all') return { mode: 'deny-all', allow: [], deny };
  const [isOpen, isOtherOpen] = [letsAllPass(one), letsAllPass(other)];
  const common = one.allow.flatMap((rule) => other.allow.flatMap((its) => ruleWithin(rule, its)));
  const allow = unique([
    ...common,
    ...(isOpen ? other.allow.map(publicly) : []),
    ...(isOtherOpen ? one.allow.map(publicly) : []),
  ]);
  const asks = one.mode === 'ask' && other.mode === 'ask';
  const bridges = one.bridges?.filter((bridge) =>
    other.bridges?.some((its) => isDeepStrictEqual(its, bridge)),
  );
  return {
    mode: isOpen && isOtherOpen ? 'allow-all' : asks ? 'ask' : 'allow-list',
    allow,
    deny,
    ...(bridges && bridges.length > 0 && { bridges }),
  };
}

function letsAllPass({ mode }: EgressPolicy): boolean {
  return mode === 'allow-all' || mode === 'learn';
}

/** A policy that allows every public address still allows no private one. */
function publicly({ private: _, ...rule }: EgressRule): EgressRule {
  return rule;
}

function ruleWithin(one: EgressRule, other: EgressRule): readonly EgressRule[] {
  const host = hostWithin(one.host, other.host);
  const ports = common(one.ports ?? standardPorts, other.ports ?? standardPorts) ?? [];
  const methods = common(one.methods, other.methods);
  const paths = pathsWithin(one.paths, other.paths);
  if (host === undefined || ports.length === 0 || methods?.length === 0 || paths?.length === 0) return [];
  const ends = [one.until, other.until].filter((time) => time !== undefined);
  return [
    {
      host,
      ports,
      ...(methods && { methods }),
      ...(paths && { paths }),
      ...((one.inspect || other.inspect) && { inspect: true }),
      ...(one.private && other.private && { private: true }),
      ...(ends.length > 0 && { until: Math.min(...ends) }),
    },
  ];
}

/** The narrower of two host patterns, if one contains the other. */
function hostWithin(one: string, other: string): string | undefined {
  if (one === other || covers(other, one)) return one;
  return covers(one, other) ? other : undefined;
}

function covers(wide: string, host: string): boolean {
  const bare = host.startsWith('*.') ? host.slice(2) : host;
  return wide.startsWith('*.') && bare.endsWith(wide.slice(1));
}

/** Undefined means all. */
function common<T>(one: readonly T[] | undefined, other: readonly T[] | undefined): readonly T[] | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one.filter((each) => other.includes(each));
}

function pathsWithin(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): readonly string[] | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const both = one.flatMap((path) => other.flatMap((its) => pathWithin(path, its) ?? []));
  return [...new Set(both)];
}

function pathWithin(one: string, other: string): string | undefined {
  if (matches(other, one)) return one;
  return matches(one, other) ? other : undefined;
}

/** Whether `wide` includes every path that `narrow` matches. */
function matches(wide: string, narrow: string): boolean {
  if (!wide.endsWith('*')) return wide === narrow;
  const bare = narrow.endsWith('*') ? narrow.slice(0, -1) : narrow;
  return bare.startsWith(wide.slice(0, -1));
}

function bindingWithin(one: BindingSpec, other: BindingSpec): readonly BindingSpec[] {
  const isSame = one.name === other.name && one.upstream === other.upstream && one.add === other.add;
  const methods = common(one.methods, other.methods);
  const paths = pathsWithin(one.paths, other.paths);
  if (!isSame || methods?.length === 0 || paths?.length === 0) return [];
  const { methods: _, paths: __, inspect, ...rest } = one;
  return [
    {
      ...rest,
      ...(methods && { methods }),
      ...(paths && { paths }),
      ...(inspect && other.inspect && { inspect }),
    },
  ];
}

function unique(rules: readonly EgressRule[]): readonly EgressRule[] {
  return [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()];
}
