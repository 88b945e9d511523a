import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closedRangeOf } from '../../src/contract/egress-addresses.ts';
import { checkPolicy, parseRules, policyOf, ruleWords, shownRule } from '../../src/contract/egress-rules.ts';
import { hostOf, targetOf } from '../../src/contract/host-name.ts';
import { allowing } from '../../src/egress/policy/change-policy.ts';
import { type Seen, smallestPolicy } from '../../src/egress/policy/learned.ts';
import { decide, inspects } from '../../src/egress/policy/policy.ts';
import { readClientHello } from '../../src/egress/proxy/client-hello.ts';
import type { EgressPolicy } from '../../src/seams/egress.ts';
import { greeting, withEncryptedHello } from './client-hellos.ts';

const web = (host: string, port = 443) => ({ host, port });

describe('the policy', () => {
  it('NET-1: allows the exact host of a rule, or hosts below a wildcard, on its ports', () => {
    const policy = policyOf({ allow: ['example.com', '*.example.org:8443', 'npm'] });
    const passes = (host: string, port?: number) => decide(policy, web(host, port)).allowed;
    expect(policy.mode).toBe('allow-list');
    expect([passes('example.com'), passes('example.com', 80), passes('registry.npmjs.org')]).toEqual([
      true,
      true,
      true,
    ]);
    expect([passes('a.example.org', 8443), passes('a.b.example.org', 8443)]).toEqual([true, true]);
    expect([passes('example.com', 22), passes('www.example.com'), passes('notexample.com')]).toEqual([
      false,
      false,
      false,
    ]);
    expect([passes('example.org', 8443), passes('a.example.org'), passes('evilexample.org', 8443)]).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('NET-1: denies by default, and a deny rule wins over every other', () => {
    expect(decide(policyOf({}), web('example.com'))).toMatchObject({ allowed: false, rule: 'deny-all' });
    const policy = policyOf({ allow: ['*'], deny: ['*.bad.example', 'pypi'] });
    expect(policy.mode).toBe('allow-all');
    expect(decide(policy, web('good.example')).allowed).toBe(true);
    expect(decide(policy, web('very.bad.example', 1))).toMatchObject({
      allowed: false,
      rule: 'deny *.bad.example',
    });
    expect(decide(policy, web('pypi.org')).allowed).toBe(false);
  });

  it('NET-1: limits plain HTTP to the methods and paths of a rule; such a rule never opens a tunnel', () => {
    const policy = policyOf({ allow: ['GET,HEAD http://example.com/api/*'] });
    const approvalPrompts = (method: string, path: string) =>
      decide(policy, { ...web('example.com', 80), http: { method, path } }).allowed;
    expect([approvalPrompts('GET', '/api/x'), approvalPrompts('HEAD', '/api/?q=1')]).toEqual([true, true]);
    expect([
      approvalPrompts('POST', '/api/x'),
      approvalPrompts('GET', '/other'),
      approvalPrompts('GET', '/apix'),
    ]).toEqual([false, false, false]);
    for (const path of ['/api/../x', '/api/%2e%2e/x', '/api//x', '/api/..;/x', '/api\\x', '/api/%2Fx'])
      expect(approvalPrompts('GET', path), path).toBe(false);
    expect(decide(policy, web('example.com', 80)).allowed).toBe(false);
    expect(decide(policy, web('example.com', 443)).allowed).toBe(false);
  });

  it('NET-1: limits inspected HTTPS to the methods and paths of a rule, and inspects only hosts of a live rule', () => {
    const policy = policyOf({
      allow: ['inspect:GET,HEAD https://api.example.com/v1/*', 'plain.example.com'],
    });
    const inside = (method: string, path: string) =>
      decide(policy, { ...web('api.example.com'), http: { method, path }, inspected: true }).allowed;
    expect([inside('GET', '/v1/a'), inside('POST', '/v1/a'), inside('GET', '/v2')]).toEqual([
      true,
      false,
      false,
    ]);
    expect(decide(policy, { ...web('api.example.com'), inspected: true }).allowed).toBe(true);
    expect(decide(policy, web('api.example.com')).allowed).toBe(false);
    const opens = (host: string, port = 443) => inspects(policy, web(host, port));
    expect([opens('api.example.com'), opens('api.example.com', 80), opens('plain.example.com')]).toEqual([
      true,
      false,
      false,
    ]);
    expect(inspects({ ...policy, mode: 'deny-all' }, web('api.example.com'))).toBe(false);
    const over = policy.allow.map((rule) => ({ ...rule, until: 1 }));
    expect(inspects({ ...policy, allow: over }, web('api.example.com'))).toBe(false);
    const open = policyOf({ allow: ['*'], deny: ['inspect:POST https://api.example.com/'] });
    expect(decide(open, { ...web('api.example.com'), inspected: true }).allowed).toBe(true);
    // By its address and a name in TLS, nothing is opened: then the rule denies all of it.
    expect(decide(open, web('api.example.com')).allowed).toBe(false);
  });

  it('NET-1: a rule written as text parses to the same rule', () => {
    const words = ['inspect:GET https://a.example:443/v1/*', 'POST http://10.0.0.5:8080/x', 'b.example:8443'];
    for (const word of words) expect(parseRules(word).flatMap(ruleWords)).toEqual([word]);
    const [rule] = parseRules('inspect:private:git.internal:8443');
    expect(rule).toEqual({ host: 'git.internal', ports: [8443], private: true, inspect: true });
    expect(rule && ruleWords(rule)).toEqual(['inspect:private:git.internal:8443']);
    expect(() => parseRules('inspect:http://a.example/')).toThrow(/plain HTTP needs no inspection/);
    const before = policyOf({ allow: ['inspect:GET https://a.example/v1', 'inspect:b.example'] });
    expect(allowing(before, ['a.example'], undefined).allow.map(shownRule)).toEqual([
      'inspect:b.example',
      'a.example',
    ]);
  });

  it('NET-3: a learned policy has methods and paths where they were seen, and the whole host where they were not', () => {
    const seen = (host: string, port: number, more: Partial<Seen> = {}): Seen => ({
      host,
      port,
      private: false,
      inspected: false,
      ...more,
    });
    const asked = (method: string, path: string | null) => ({ http: { method, path } });
    const { mode, allow } = smallestPolicy(policyOf({ allow: ['*'] }), [
      seen('a.example', 443),
      seen('a.example', 8443),
      seen('a.example', 443, { inspected: true, ...asked('GET', '/covered') }),
      seen('b.example', 443, { inspected: true, ...asked('GET', '/v1/a') }),
      seen('b.example', 443, { inspected: true, ...asked('HEAD', '/v1/a') }),
      seen('b.example', 443, { inspected: true, ...asked('POST', '/v1/b') }),
      seen('c.example', 80, asked('GET', '/one')),
      seen('c.example', 80, asked('GET', null)),
    ]);
    expect(mode).toBe('allow-list');
    expect(allow.map(shownRule)).toEqual([
      'a.example:443,8443',
      'inspect:GET,HEAD https://b.example:443/v1/a',
      'inspect:POST https://b.example:443/v1/b',
      'GET http://c.example:80/',
    ]);
    for (const rule of allow) expect(() => checkPolicy({ mode, allow: [rule], deny: [] })).not.toThrow();
  });

  it('refuses a policy that cannot be enforced, with a hint', () => {
    expect(() => parseRules('GET https://example.com/api/')).toThrow(/encrypted: name the host alone/);
    expect(() => parseRules('10.0.0.5')).toThrow(/add its port/);
    expect(() => parseRules('exa mple')).toThrow(/neither a host/);
    expect(parseRules('10.0.0.5:11434')).toEqual([{ host: '10.0.0.5', ports: [11_434], private: true }]);
    const wide: EgressPolicy = { mode: 'allow-list', deny: [], allow: [{ host: '*.x.test', private: true }] };
    expect(() => checkPolicy(wide)).toThrow(/one port/);
    expect(() => checkPolicy({ ...wide, allow: [{ host: 'UPPER.test' }] })).toThrow(/not valid/);
  });

  it('drops a rule when it expires', () => {
    const policy: EgressPolicy = {
      mode: 'allow-list',
      deny: [],
      allow: [{ host: 'example.com', until: 1_000 }],
    };
    expect(decide(policy, web('example.com'), 999).allowed).toBe(true);
    expect(decide(policy, web('example.com'), 1_001).allowed).toBe(false);
  });
});

describe('hosts and addresses', () => {
  it('gives all spellings of a host one form', () => {
    expect(['EXAMPLE.com', 'example.com.', 'bücher.example'].map(hostOf)).toEqual([
      'example.com',
      'example.com',
      'xn--bcher-kva.example',
    ]);
    for (const strange of [
      '127.1',
      '0x7f.0.0.1',
      '2130706433',
      '0177.0.0.1',
      '0x7f000001',
      '1.2.3.4.',
      '１２７.0.0.1',
      'a..b',
      '',
      '.',
      'a b',
      'x\0y',
      '[::1',
      'fe80::1%eth0',
    ])
      expect(hostOf(strange), strange).toBeUndefined();
    expect(hostOf('[::FFFF:127.0.0.1]')).toBe('::ffff:7f00:1');
    expect(targetOf('user@example.com:80')).toBeUndefined();
    expect(targetOf('example.com:0')).toBeUndefined();
  });

  it('knows every range that is not public, in every form', () => {
    const none = new Set<string>();
    for (const address of [
      ...[
        '127.0.0.1',
        '10.1.2.3',
        '172.16.0.1',
        '192.168.1.1',
        '169.254.169.254',
        '100.64.0.1',
        '0.0.0.0',
        '224.0.0.1',
        '255.255.255.255',
        '100.100.100.200',
        '168.63.129.16',
      ],
      ...[
        '::1',
        '::',
        '::ffff:8.8.8.8',
        '::10.1.2.3',
        '64:ff9b::808:808',
        '2002:7f00:1::',
        '2001::1',
        'fe80::1',
        'fc00::1',
        'fd00:ec2::254',
        'ff02::1',
        '::ffff:0:7f00:1',
        'not an address',
      ],
    ])
      expect(closedRangeOf(address, none), address).toBeDefined();
    for (const address of ['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111', '2001:4860:4860::8888'])
      expect(closedRangeOf(address, none), address).toBeUndefined();
    expect(closedRangeOf('8.8.8.8', new Set(['8.8.8.8']))).toBe("this machine's");
  });
});

describe('the first TLS message', () => {
  it('are parsed when complete; an incomplete part asks for more bytes', async () => {
    const hello = await greeting('Allowed.TEST');
    expect(readClientHello(hello)).toEqual({ serverName: 'allowed.test', encryptedHello: false });
    expect(readClientHello(withEncryptedHello(hello))).toEqual({
      serverName: 'allowed.test',
      encryptedHello: true,
    });
    for (let length = 1; length < hello.length; length += 1)
      expect(readClientHello(hello.subarray(0, length))).toBe('more');
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(hello.length - 1), fc.nat(255)), { minLength: 1, maxLength: 20 }),
        (changes) => {
          const changed = Buffer.from(hello);
          for (const [at, value] of changes) changed[at] = value;
          const read = readClientHello(changed);
          return typeof read === 'string' || typeof read.encryptedHello === 'boolean';
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
