import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowsHttp, deniesHttp } from '../../src/egress/policy/path-rules.ts';
import { toHere } from './hatch-fixture.ts';
import { httpUpstream, type Upstream } from './upstreams.ts';
import { exchange, openWire, tunnelTo, type Wire } from './wire-fixture.ts';

/** Ways to write `/admin/x` that some server takes for it. */
const spellings = [
  ...[
    '//admin/x',
    '///admin/x',
    '/./admin/x',
    '/a/../admin/x',
    '/a/b/../../admin/x',
    '/../admin/x',
    '/admin//x',
  ],
  ...[
    '/%61dmin/x',
    '/%2561dmin/x',
    '/%25%36%31dmin/x',
    '/admin%2fx',
    '/admin%2Fx',
    '/admin%252fx',
    '/%2fadmin/x',
  ],
  ...[
    '/admin;a/x',
    '/admin;/x',
    '/;/admin/x',
    '/;a=b/admin/x',
    '/.;/admin/x',
    '/a/..;/admin/x',
    '/admin%3ba/x',
  ],
  ...[
    '/admin/./x',
    '/admin/%2e/x',
    '/%2e/admin/x',
    '/a/%2e%2e/admin/x',
    '/a/.%2e/admin/x',
    '/a/%252e%252e/admin/x',
  ],
  ...[
    '/\\admin/x',
    '\\admin/x',
    '/%5cadmin/x',
    '/a\\..\\admin\\x',
    '/a%5c..%5cadmin%5cx',
    '/admin\\x',
    '/admin%5Cx',
  ],
  ...['//evil/admin/x', '//evil:80/admin/x', '/\\evil/admin/x', '/%2fevil/admin/x', '//./admin/x'],
  ...['/ADMIN/x', '/Admin/X', '/%41dmin/x', '/%EF%BD%81dmin/x', '/admin%00/x', '/admin%09/x', '/admin%20/x'],
  ...[
    '/admin./x',
    '/admin../x',
    '/admin.%20/x',
    '/%0aadmin/x',
    '/ad%0dmin/x',
    '/%u0061dmin/x',
    '/%c0%af/admin/x',
  ],
  ...[
    '/admin/x?q',
    '/admin/x%3fq',
    '/admin/x%23q',
    '/admin/x/../x',
    '/admin/x;v=1',
    '/x%zz',
    '/admin/../admin/x',
  ],
  ...['/admin+/x', '/+admin/x', '/%20admin/x', '/%C2%A0admin/x', '/adm%C4%B1n/x', '/admin::$DATA/x'],
  ...['/admin:$I30:$INDEX_ALLOCATION/x', '/ad%C2%ADmin/x', '/admin%E2%80%8B/x', '/%EF%BB%BFadmin/x'],
  ...['/%e0%81%a1dmin/x', '/%f0%80%81%a1dmin/x', '/admin%e0%80%afx', '/%25u0061dmin/x', '/admin;/../x'],
  ...['/%C3%A1dmin/x', '/adm%C4%B0n/x', '/a%CC%81dmin/x', '/admin%E2%88%95x', '/admin%E2%81%84x'],
  ...['/admin%a0/x', '/admin%E2%80%A8/x', '/.%20/admin/x', '/a/..%20/admin/x', '/.../admin/x', '/ADMIN~1/x'],
  ...['/admin', '/admin?x', '/admin%23', '/a/%2e%2e/admin'],
];

/** Targets that two readers could end in different places. */
const notTargets = [
  '/ok/a#',
  '/ok/a#/../../admin/x',
  '/ok/a?q#/../..',
  '/ok/a#?/../..',
  '/ok/a\x7f',
  '/ok/\xe9',
  '/ok/a\tb',
];

const methodsAndPaths = { methods: ['GET'], paths: ['/ok/*'] };

describe('paths that a server may read in several ways', () => {
  let upstream: Upstream;
  beforeAll(async () => {
    upstream = await httpUpstream();
  });
  afterAll(() => upstream?.[Symbol.asyncDispose]());

  const ask = async (wire: Wire, way: 'proxy' | 'tunnel' | 'binding', target: string, ...lines: string[]) => {
    const host = `allowed.test:${upstream.port}`;
    const head = (url: string) =>
      ['GET ', url, ' HTTP/1.1\r\nHost: ', host, '\r\n', ...lines.map((line) => `${line}\r\n`), '\r\n'].join(
        '',
      );
    if (way === 'proxy') return exchange(await wire.connect('proxy'), head(`http://${host}${target}`));
    if (way === 'binding') return exchange(await wire.connect('bind-own'), head(target));
    return exchange(await tunnelTo(wire, 'allowed.test', upstream.port), head(target));
  };
  const statusOf = (answer: string) => answer.slice(9, 12);
  const binding = (more: object = {}) => ({
    name: 'own',
    upstream: `http://allowed.test:${upstream.port}`,
    add: 'bearer',
    ...more,
  });
  const everything = () => toHere('allowed.test', upstream.port);

  it('NET-1: a deny rule holds for every spelling of its path, by proxy, tunnel and binding', async () => {
    const deny = [{ host: 'allowed.test', paths: ['/admin/*'] }];
    // A tunnel of unseen requests would be denied as a whole: a rule with a method lets it open for plain HTTP.
    const allow = [{ ...everything(), methods: ['GET'] }];
    using wire = await openWire({ mode: 'allow-list', allow, deny }, [binding()]);
    const before = upstream.seen.length;
    for (const way of ['proxy', 'tunnel', 'binding'] as const) {
      for (const spelling of spellings)
        expect(statusOf(await ask(wire, way, spelling)), `${way} ${spelling}`).toMatch(/40[034]/);
    }
    expect(upstream.seen.slice(before)).toEqual([]);
    for (const way of ['proxy', 'tunnel', 'binding'] as const) {
      for (const path of [
        ...['/ok', '/adminx', '/a/admin/x', '/caf%C3%A9', '/a%20b?admin/x', '/@scope%2fname'],
        ...['/c++', '/v1/model:generate', '/$batch', '/%E6%97%A5%E6%9C%AC', '/~ann/x', '/a~1.2.3'],
      ])
        expect(statusOf(await ask(wire, way, path)), `${way} ${path}`).toBe('200');
    }
    // The path that was judged is the one that is sent.
    expect(upstream.seen.slice(before).map(({ url }) => url)).toContain('/@scope%2fname');
  });

  it('NET-1: a deny rule for an address holds for every name that resolves to it, by proxy, tunnel and binding', async () => {
    const deny = [{ host: '127.0.0.1', ports: [upstream.port] }];
    using wire = await openWire({ mode: 'allow-list', allow: [everything()], deny }, [binding()]);
    const before = upstream.seen.length;
    const reason = `resolves to 127.0.0.1: 127.0.0.1:${upstream.port} is denied by the rule`;
    expect(await ask(wire, 'proxy', '/ok')).toMatch(/^HTTP\/1\.1 403 /);
    expect(await ask(wire, 'binding', '/ok')).toContain(reason);
    await expect(ask(wire, 'tunnel', '/ok')).rejects.toThrow(reason);
    expect(upstream.seen.slice(before)).toEqual([]);
  });

  it('NET-1: an allow rule and the paths of a binding hold for every spelling too', async () => {
    const allow = [toHere('allowed.test', upstream.port, methodsAndPaths)];
    using wire = await openWire({ mode: 'allow-list', allow, deny: [] }, [binding(methodsAndPaths)]);
    const before = upstream.seen.length;
    const escapes = [
      '/ok/../admin/x',
      '/ok/%2e%2e/admin/x',
      '/ok/..;/admin/x',
      '/ok/..%2fadmin',
      '/ok%2f..%2fadmin',
    ];
    const more = ['/ok/\\..\\admin', '/ok/%252e%252e/admin', '/ok/a/../../admin', '/ok//../admin', '//ok/a'];
    for (const way of ['proxy', 'tunnel', 'binding'] as const) {
      for (const path of [...spellings, ...escapes, ...more, ...notTargets])
        expect(statusOf(await ask(wire, way, path)), `${way} ${path}`).toMatch(/40[034]/);
      expect(statusOf(await ask(wire, way, '/ok/a?x=../..'))).toBe('200');
    }
    expect(new Set(upstream.seen.slice(before).map(({ url }) => url))).toEqual(new Set(['/ok/a?x=../..']));
  });

  it('NET-1: no header or query names another method or path where a rule asks for these', async () => {
    const deny = [{ host: 'denied.test', paths: ['/admin/*'] }];
    const judged = [toHere('allowed.test', upstream.port, methodsAndPaths)];
    using wire = await openWire({ mode: 'allow-list', allow: judged, deny }, [binding(methodsAndPaths)]);
    using free = await openWire({ mode: 'allow-list', allow: [everything()], deny: [] }, [binding()]);
    const before = upstream.seen.length;
    for (const way of ['proxy', 'tunnel', 'binding'] as const) {
      for (const name of [
        'X-HTTP-Method-Override',
        'X-Original-URL',
        'x-rewrite-url',
        'X_HTTP_METHOD',
        'X-Forwarded-Uri',
        'X.Original.Url',
        'X-Proxy-Request-Path',
        'Method-Override',
        'Destination',
      ])
        expect(statusOf(await ask(wire, way, '/ok/a', `${name}: DELETE`)), `${way} ${name}`).toBe('403');
      for (const query of [
        '_method=DELETE',
        'a=1&%5Fmethod=DELETE',
        'X-HTTP-Method-Override=PUT',
        'a;_method=PUT',
      ])
        expect(statusOf(await ask(wire, way, `/ok/a?${query}`)), `${way} ${query}`).toBe('403');
    }
    expect(upstream.seen.slice(before)).toEqual([]);
    // Nothing is asked of a host that a rule lets pass whole.
    expect(statusOf(await ask(free, 'proxy', '/x', 'X-HTTP-Method-Override: PATCH'))).toBe('200');
    expect(statusOf(await ask(free, 'binding', '/x', 'X-HTTP-Method-Override: PATCH'))).toBe('200');
  });

  it('denies an unreadable path, and a path with too many readings', () => {
    const rule = { paths: ['/admin/*'] };
    const deep = `/%${'25'.repeat(40)}61dmin/x`;
    for (const path of ['/%', '/%u0061', '/%c0%ae', deep, `/${'a'.repeat(9_000)}`])
      expect(deniesHttp(rule, { method: 'GET', path }), path).toBe(true);
    expect(deniesHttp({ ...rule, methods: ['POST'] }, { method: 'GET', path: '/admin/x' })).toBe(false);
    expect(allowsHttp({ paths: ['/a%20b/*'] }, { method: 'GET', path: '/a%20b/c' })).toBe(true);
    expect(allowsHttp({ paths: ['/a'] }, { method: 'GET', path: '/%61' })).toBe(false);
  });
});
