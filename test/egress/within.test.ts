import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkPolicy, policyOf } from '../../src/contract/egress-rules.ts';
import { allowsHttp } from '../../src/egress/policy/path-rules.ts';
import { decide } from '../../src/egress/policy/policy.ts';
import { narrowedTo } from '../../src/egress/policy/within.ts';
import { type BindingSpec, type EgressPolicy, type EgressRule, egressModes } from '../../src/seams/egress.ts';
import { eachOf } from '../each-of.ts';

const hosts = ['a.test', 'b.test', 'x.a.test', '*.a.test', '*.test', '10.0.0.1'];
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const listOf = <T>(...values: T[]) => fc.subarray(values, { minLength: 1 });
const withoutUndefined = <T extends object>(given: T) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
const paths = listOf('/', '/a', '/a/*', '/a/b/*', '/*', '/b');
const methods = listOf('GET', 'POST', 'PUT');
const rule = fc
  .record({
    host: fc.constantFrom(...hosts),
    ports: maybe(listOf(80, 443, 8080)),
    methods: maybe(methods),
    paths: maybe(paths),
    inspect: maybe(fc.constant(true)),
    private: maybe(fc.constant(true)),
    until: maybe(fc.constantFrom(50, 150, 1000)),
  })
  .map((given) => withoutUndefined(given) as unknown as EgressRule)
  .map((given) => (given.private ? { ...given, host: given.host.replace('*.', ''), ports: [80] } : given));
const policy: fc.Arbitrary<EgressPolicy> = fc.record({
  mode: fc.constantFrom(...egressModes),
  allow: fc.array(rule, { maxLength: 4 }),
  deny: fc.array(rule, { maxLength: 2 }),
});
const request = fc
  .record({
    host: fc.constantFrom('a.test', 'b.test', 'x.a.test', 'y.x.a.test', 'test', '10.0.0.1'),
    port: fc.constantFrom(80, 443, 8080, 22),
    inspected: maybe(fc.boolean()),
    http: maybe(
      fc.record({
        method: fc.constantFrom('GET', 'POST', 'DELETE'),
        path: fc.constantFrom('/', '/a', '/a/c', '/a/b/c', '/b', '/c'),
      }),
    ),
  })
  .map((given) => withoutUndefined(given) as unknown as Parameters<typeof decide>[1]);
const spec = (given: EgressPolicy, bindings: readonly BindingSpec[] = []) => ({ policy: given, bindings });

describe('the intersection of two policies', () => {
  it('MCP-4: allows nothing that one of them denies, including private addresses and questions', () => {
    fc.assert(
      fc.property(policy, policy, request, fc.constantFrom(0, 100, 500), (one, other, asked, now) => {
        const both = decide(checkPolicy(narrowedTo(spec(one), spec(other)).policy), asked, now);
        const each = [one, other].map((its) => decide(its, asked, now));
        if (both.allowed) {
          expect(eachOf(each).every(({ allowed }) => allowed)).toBe(true);
          if (both.private) expect(eachOf(each).every((its) => its.allowed && its.private)).toBe(true);
        } else if (both.undecided)
          expect(eachOf(each).every((its) => its.allowed || its.undecided === true)).toBe(true);
      }),
      { numRuns: 20_000 },
    );
  });

  it('MCP-4: allows what both allow, without questions and TLS inspection', () => {
    const plain = policy.map((given) => ({
      ...given,
      mode: given.mode === 'ask' ? ('allow-list' as const) : given.mode,
      allow: given.allow.map(({ inspect: _, private: __, ...each }) => each),
    }));
    fc.assert(
      fc.property(plain, plain, request, (one, other, { inspected: _, ...asked }) => {
        const both = decide(narrowedTo(spec(one), spec(other)).policy, asked, 0);
        expect(both.allowed).toBe(decide(one, asked, 0).allowed && decide(other, asked, 0).allowed);
      }),
      { numRuns: 20_000 },
    );
  });

  it('MCP-4: has the bindings of both, for the requests that both allow', () => {
    const binding = fc.record({ methods: maybe(methods), paths: maybe(paths) }).map((given) => ({
      ...(withoutUndefined(given) as unknown as Pick<BindingSpec, 'methods' | 'paths'>),
      name: 'tickets',
      upstream: 'https://tickets.test',
      add: 'bearer',
    }));
    const open = policyOf({ allow: ['*'] });
    fc.assert(
      fc.property(binding, binding, request, (one, other, { http }) => {
        const both = narrowedTo(spec(open, [one]), spec(open, [other])).bindings;
        const isLet = both.some((each) => allowsHttp(each, http));
        expect(isLet).toBe(allowsHttp(one, http) && allowsHttp(other, http));
      }),
    );
    const elsewhere = { name: 'tickets', upstream: 'https://other.test', add: 'bearer' };
    const here = { ...elsewhere, upstream: 'https://tickets.test' };
    expect(narrowedTo(spec(open, [elsewhere]), spec(open, [here])).bindings).toEqual([]);
  });
});
