import { isIP } from 'node:net';
import { z } from 'zod';
import { GeodeError } from '../base/errors.ts';
import { type EgressPolicy, type EgressRule, type EgressSpec, egressModes } from '../seams/egress.ts';
import { closedRangeOf } from './egress-addresses.ts';
import { presetNames, presetRules } from './egress-presets.ts';
import { hostOf, targetOf } from './host-name.ts';

const mostRules = 1_000;
const inspectPrefix = 'inspect:';
const port = z.number().int().min(1).max(65_535);
const host = z.string().refine((text) => isRuleHost(text), 'is not a host, *.domain or address');

const methods = z
  .array(z.string().regex(/^[A-Z]{1,20}$/))
  .min(1)
  .max(32);
const paths = z
  .array(
    z
      .string()
      .regex(/^\/[\x21-\x7e]*$/)
      .max(2048),
  )
  .min(1)
  .max(64);

const ruleSchema = z.strictObject({
  host,
  ports: z.array(port).min(1).max(64).optional(),
  methods: methods.optional(),
  paths: paths.optional(),
  inspect: z.boolean().optional(),
  private: z.boolean().optional(),
  until: z.number().int().nonnegative().optional(),
  from: z.string().max(64).optional(),
});

export const policySchema = z.strictObject({
  mode: z.enum(egressModes),
  allow: z.array(ruleSchema).max(mostRules),
  deny: z.array(ruleSchema).max(mostRules),
  bridges: z
    .array(z.strictObject({ port, to: z.strictObject({ host, port }) }))
    .max(32)
    .optional(),
});

export const bindingSpecSchema = z.strictObject({
  name: z.string().max(48),
  upstream: z.string().max(2000).optional(),
  add: z.string().max(80).optional(),
  methods: methods.optional(),
  paths: paths.optional(),
  inspect: z.boolean().optional(),
});

/** Throws for a policy that cannot be enforced. */
export function checkPolicy(given: unknown): EgressPolicy {
  const parsed = policySchema.safeParse(given);
  if (!parsed.success)
    throw new GeodeError('invalid_input', `The policy is not valid: ${z.prettifyError(parsed.error)}`);
  const policy = parsed.data as EgressPolicy;
  for (const rule of policy.allow) {
    if (rule.private && (rule.host.startsWith('*') || rule.ports?.length !== 1))
      throw wrong(`${rule.host} is private: name one host or address, and one port`);
  }
  return policy;
}

/** Refuses paths that no request can have: rules and bindings are matched without the query. */
export function checkPaths({ policy, bindings }: EgressSpec): void {
  for (const { paths = [] } of [...policy.allow, ...policy.deny, ...bindings]) paths.forEach(checkPath);
}

function checkPath(path: string): void {
  if (/[?#]/.test(path))
    throw wrong(`The path ${path} has a ? or #, and a rule counts for every query: name the path before it`);
  if (path.indexOf('*') !== -1 && path.indexOf('*') !== path.length - 1)
    throw wrong(
      `The path ${path} has a * before its end, where it stands for nothing: end the path at the *`,
    );
  if (!/^\/[\x21-\x7e]*$/.test(path))
    throw wrong(
      `The path ${JSON.stringify(path)} is not valid in a request: start it with / and escape blanks (%20)`,
    );
}

/**
 * A rule as users write it: a preset (`npm`), `example.com`, `*.example.com:8443`, `10.0.0.5:11434` (a private
 * address needs its port), `private:db.internal:5432` (a name of a private address), for plain HTTP `GET
 * http://example.com/api/*`, or for decrypted HTTPS `inspect:GET https://example.com/api/*`.
 */
export function parseRules(word: string): readonly EgressRule[] {
  const isInspected = word.startsWith(inspectPrefix);
  const text = isInspected ? word.slice(inspectPrefix.length) : word;
  const opened = isInspected ? { inspect: true } : {};
  const preset = presetRules(text);
  if (preset !== undefined) return preset.map((rule) => ({ ...rule, ...opened }));
  const plain = /^(?:([A-Z]+(?:,[A-Z]+)*) )?(https?):\/\/([^/\s]+)(\/\S*)?$/.exec(text);
  if (plain === null) return [ruleOf(text, opened)];
  const [, methods, scheme, authority = '', path] = plain;
  if (isInspected && scheme === 'http')
    throw wrong(`${word}: plain HTTP needs no inspection; write it without ${inspectPrefix}`);
  if (scheme === 'https' && !isInspected && (methods !== undefined || (path !== undefined && path !== '/')))
    throw wrong(
      `${text} asks for a method or a path of https, which is encrypted: name the host alone, or let Geode open it with ${inspectPrefix}${text}`,
    );
  if (path !== undefined) checkPath(path);
  const standard = scheme === 'https' ? 443 : 80;
  return [
    ruleOf(/:\d+$/.test(authority) ? authority : `${authority}:${standard}`, {
      ...opened,
      ...(methods === undefined ? {} : { methods: methods.split(',') }),
      ...(path === undefined || path === '/' || path === '/*' ? {} : { paths: [path] }),
    }),
  ];
}

function ruleOf(text: string, extra: Partial<EgressRule>): EgressRule {
  const word = text.startsWith('private:') ? 'private:' : text.startsWith('*.') ? '*.' : '';
  const star = word === '*.' ? word : '';
  const rest = text.slice(word.length);
  const target = targetOf(rest);
  const name = target?.host ?? hostOf(rest);
  if (name === undefined || (star !== '' && isIP(name) !== 0)) throw noRule(text);
  const isPrivate =
    word === 'private:' || name === 'localhost' || (isIP(name) !== 0 && closedRangeOf(name) !== undefined);
  if (isPrivate && target === undefined)
    throw wrong(`${text} is a private address: add its port, ${text}:8080`);
  return {
    host: `${star}${name}`,
    ...(target === undefined ? {} : { ports: [target.port] }),
    ...(isPrivate ? { private: true } : {}),
    ...extra,
  };
}

/** `*` alone matches everything public. */
export function policyOf(words: {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
}): EgressPolicy {
  const allow = commas(words.allow ?? []);
  const deny = commas(words.deny ?? []).flatMap(parseRules);
  if (allow.includes('*')) {
    return { mode: 'allow-all', allow: allow.filter((word) => word !== '*').flatMap(parseRules), deny };
  }
  return { mode: allow.length === 0 ? 'deny-all' : 'allow-list', allow: allow.flatMap(parseRules), deny };
}

/** A word may hold several rules, separated by commas; methods are separated by commas too. */
export function commas(words: readonly string[]): readonly string[] {
  return words.flatMap((word) =>
    /^(inspect:)?[A-Z]+[ ,]/.test(word)
      ? [word]
      : word
          .split(',')
          .map((part) => part.trim())
          .filter(Boolean),
  );
}

/** As typed on the command line. */
export function shownRule({ host: name, ports, methods, paths, inspect, from }: EgressRule): string {
  const shownPorts = ports === undefined ? '' : `:${ports.join(',')}`;
  const shownHost = name.includes(':') ? `[${name}]` : name;
  const rule = `${shownHost}${shownPorts}`;
  const isWhole = methods === undefined && paths === undefined;
  const scheme = inspect ? 'https' : 'http';
  const verbs = methods === undefined ? '' : `${methods.join(',')} `;
  const inside = isWhole ? rule : `${verbs}${scheme}://${rule}${paths?.join(' ') ?? '/'}`;
  const shown = inspect ? `${inspectPrefix}${inside}` : inside;
  return from === undefined ? shown : `${shown} (${from})`;
}

/** The words for this rule, one for each of its paths. */
export function ruleWords(rule: EgressRule): readonly string[] {
  const { from: _, ...bare } = rule;
  const mark = (word: string) =>
    bare.private && isIP(bare.host) === 0 && bare.host !== 'localhost'
      ? word.replace(/^(inspect:)?(\S+ )?(https?:\/\/)?/, '$&private:')
      : word;
  return (bare.paths ?? [undefined]).map((path) =>
    mark(shownRule(path === undefined ? bare : { ...bare, paths: [path] })),
  );
}

function isRuleHost(text: string): boolean {
  const bare = text.startsWith('*.') ? text.slice(2) : text;
  return hostOf(bare) === bare && (bare === text || isIP(bare) === 0);
}

function noRule(text: string): GeodeError {
  return wrong(
    `${JSON.stringify(text)} is neither a host (example.com, *.example.com:8443), an address with its port, nor one of ${presetNames.join(', ')}`,
  );
}

function wrong(what: string): GeodeError {
  return new GeodeError('invalid_input', `${what}.`, { details: { usage: true } });
}
