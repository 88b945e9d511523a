import { shownRule } from '../../contract/egress-rules.ts';
import { shownTarget } from '../../contract/host-name.ts';
import type { EgressPolicy, EgressRule, EgressTarget } from '../../seams/egress.ts';
import { allowsHttp, deniesHttp } from './path-rules.ts';

const standardPorts: readonly number[] = [80, 443];

/** A requested connection. `http` is known for plain HTTP and for decrypted HTTPS. */
export interface Request extends EgressTarget {
  readonly http?: { readonly method: string; readonly path: string };
  /** Geode decrypts its TLS: a tunnel without `http` is allowed if some request in it may be. */
  readonly inspected?: boolean;
  /** The tunnel that a request came through. */
  readonly inside?: Request;
}

export type Decision =
  | {
      readonly allowed: true;
      readonly rule: string;
      /** The rule itself allows a private address. */
      readonly private: boolean;
    }
  | {
      readonly allowed: false;
      readonly rule: string;
      readonly reason: string;
      /** No rule covers it, and the mode is `ask`. */
      readonly undecided?: boolean;
    };

/** Deny wins; an expired rule has no effect. */
export function decide(policy: EgressPolicy, request: Request, now = Date.now()): Decision {
  const target = shownTarget(request);
  const denied = policy.deny.find((rule) => isLive(rule, now) && denies(rule, request));
  if (denied !== undefined)
    return refuse(`deny ${shownRule(denied)}`, `${target} is denied by the rule ${shownRule(denied)}`);
  if (policy.mode === 'deny-all') return refuse('deny-all', `${target} is not allowed: no rule allows it`);
  const live = policy.allow.filter((rule) => isLive(rule, now) && matchesHost(rule, request.host));
  const matching = live.filter((rule) => matchesPort(rule, request.port));
  const rules = matching.filter((rule) => mayPass(rule, request));
  // A private address is allowed only by its own rule, regardless of other rules for the name.
  const rule = rules.find(({ private: isPrivate }) => isPrivate) ?? rules[0];
  if (rule !== undefined) return { allowed: true, rule: shownRule(rule), private: rule.private === true };
  if (policy.mode === 'allow-all' || policy.mode === 'learn')
    return { allowed: true, rule: policy.mode, private: false };
  if (policy.mode === 'ask')
    return { allowed: false, rule: 'ask', reason: `${target} is not in the policy`, undecided: true };
  if (matching[0] !== undefined) {
    const what = request.http === undefined ? 'only plain HTTP' : `not ${request.http.method} of this path`;
    return refuse(shownRule(matching[0]), `${target}: the rule ${shownRule(matching[0])} allows ${what}`);
  }
  if (live[0] !== undefined)
    return refuse(
      shownRule(live[0]),
      `${target}: the rule ${shownRule(live[0])} does not name port ${request.port}`,
    );
  return refuse('allow-list', `${target} is not in the policy`);
}

function refuse(rule: string, reason: string): Decision {
  return { allowed: false, rule, reason };
}

function isLive({ until }: EgressRule, now: number): boolean {
  return until === undefined || until > now;
}

/** Whether TLS to this target is decrypted: a valid rule says so, and the mode allows any traffic at all. */
export function inspects(
  { mode, allow, deny }: EgressPolicy,
  target: EgressTarget,
  now = Date.now(),
): boolean {
  if (mode === 'deny-all') return false;
  return (
    allow.some((rule) => rule.inspect && isLive(rule, now) && names(rule, target, standardPorts)) ||
    deny.some((rule) => rule.inspect && isLive(rule, now) && names(rule, target, undefined))
  );
}

/** Whether a valid rule for this target checks methods or paths: then headers may not name others. */
export function judgesRequests(
  { allow, deny }: EgressPolicy,
  target: EgressTarget,
  now = Date.now(),
): boolean {
  const judges = (rule: EgressRule, otherwise: readonly number[] | undefined) =>
    (rule.methods !== undefined || rule.paths !== undefined) &&
    isLive(rule, now) &&
    names(rule, target, otherwise);
  return allow.some((rule) => judges(rule, standardPorts)) || deny.some((rule) => judges(rule, undefined));
}

function names(
  rule: EgressRule,
  { host, port }: EgressTarget,
  otherwise: readonly number[] | undefined,
): boolean {
  const ports = rule.ports ?? otherwise;
  return matchesHost(rule, host) && (ports === undefined || ports.includes(port));
}

/**
 * A deny rule without ports means every port. A deny rule with methods or paths covers a whole TLS connection, unless
 * the connection is decrypted: then each request is checked.
 */
function denies(rule: EgressRule, { host, port, http, inspected }: Request): boolean {
  if (!names(rule, { host, port }, undefined)) return false;
  if (http !== undefined) return deniesHttp(rule, http);
  return inspected !== true || (rule.methods === undefined && rule.paths === undefined);
}

function mayPass(rule: EgressRule, { http, inspected }: Request): boolean {
  if (http !== undefined || inspected !== true) return allowsHttp(rule, http);
  return true;
}

function matchesHost({ host: wanted }: EgressRule, host: string): boolean {
  return wanted.startsWith('*.')
    ? host.endsWith(wanted.slice(1)) && host.length > wanted.length - 1
    : host === wanted;
}

function matchesPort({ ports = standardPorts }: EgressRule, port: number): boolean {
  return ports.includes(port);
}
