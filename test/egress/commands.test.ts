import { stat } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Approval } from '../../src/seams/approval.ts';
import type { AuditRecord, Denial } from '../../src/seams/egress.ts';
import { patience, patiently, type SandboxHome, sandboxHome } from '../cli/sandbox-home.ts';
import { certificateFile, httpUpstream, tlsUpstream, type Upstream } from './upstreams.ts';

const { bubblewrap } = inject('engines');

/** Prints what a URL gives, or why it does not. The address is private, so it must not be taken for the sandbox's own. */
const get = `
import os, sys, urllib.request
os.environ.pop('no_proxy', None); os.environ.pop('NO_PROXY', None)
for url in sys.argv[1:]:
    try: print(urllib.request.urlopen(url, timeout=250).read().decode())
    except Exception as error: print(error)
`;

describe.skipIf(!bubblewrap.available)(
  `the hatch from the command line${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  patience,
  () => {
    let home: SandboxHome;
    let server: Upstream;
    let secure: Upstream;
    let own: string;
    beforeAll(async () => {
      server = await httpUpstream();
      secure = await tlsUpstream();
      own = `127.0.0.1:${server.port}`;
      home = await sandboxHome({
        GEODE_RUNTIME_NAME: 'bubblewrap',
        GEODE_SANDBOX_READY: '0',
        GEODE_EGRESS_ASK_TIMEOUT: '250',
        GEODE_EGRESS_UPSTREAM_CA: certificateFile,
      });
    });
    afterEach(() => home.end());
    afterAll(async () => {
      await home?.[Symbol.asyncDispose]();
      await server?.[Symbol.asyncDispose]();
      await secure?.[Symbol.asyncDispose]();
    });

    const search = async (...args: string[]) =>
      (await home.json<{ records: AuditRecord[] }>(['egress', 'log', ...args])).records;

    it('NET-1 NET-7: a run and a command reach hosts of --allow, and print denied hosts and how to allow them on stderr', async () => {
      const run = await home.run([
        'run',
        '--allow',
        own,
        'python',
        '-c',
        get,
        `http://${own}/run`,
        'http://other.example/',
      ]);
      expect(run.stdout).toBe(
        `hello from ${own}/run\nHTTP Error 403: Geode: other.example:80 is not in the policy\n`,
      );
      expect(run.stderr).toContain(
        'Blocked: other.example:80 (no rule allows it)\n' +
          '  Allow it for this run: geode run --allow other.example …\n',
      );
      const other = ['run', '--json', '--allow', own, 'python', '-c', get, 'http://other.example/'];
      const inJson = JSON.parse(await home.ok(other)) as { denied: Denial[] };
      expect(inJson.denied).toMatchObject([
        { host: 'other.example', port: 80, rule: 'allow-list', ask: '--allow other.example' },
      ]);
      const exec = await home.run([
        'exec',
        '--allow',
        own,
        '--',
        'python3',
        '-c',
        get,
        `http://${own}/exec`,
        'http://other.example/',
      ]);
      expect(exec.stdout).toContain(`hello from ${own}/exec\n`);
      expect(exec.stderr).toContain('geode exec --allow other.example …\n');
      const none = await home.run(['run', 'python', '-c', get, `http://${own}/none`]);
      expect(none.stdout).not.toContain('hello');
      expect(server.seen.map(({ url }) => url)).toEqual(['/run', '/exec']);
      const denied = await search('--denied', '--since', '1d', '--search', 'other.example');
      expect(denied.map(({ verdict, host, user }) => ({ verdict, host, isNamed: user !== '' }))).toEqual([
        { verdict: 'denied', host: 'other.example', isNamed: true },
        { verdict: 'denied', host: 'other.example', isNamed: true },
        { verdict: 'denied', host: 'other.example', isNamed: true },
      ]);
      expect(await search('--search', 'nowhere')).toEqual([]);
    });

    it('NET-3: without a policy, a refused request is printed after the command and logged; --network none removes the proxy', async () => {
      const code = ['python3', '-c', get, 'https://unasked.example/'];
      await home.ok(['sandbox', 'create', 'plain']);
      const blocked = 'Blocked: unasked.example:443 (no rule allows it)\n  Allow it';
      const run = await home.run(['run', 'python', '-c', get, 'https://unasked.example/']);
      expect(run.stdout).toContain('403 Geode: unasked.example:443 is not allowed: no rule allows it');
      expect(run.stderr).toContain(`${blocked} for this run: geode run --allow unasked.example …\n`);
      const exec = await home.run(['exec', '-q', '--', ...code]);
      expect(exec.stderr).toBe(`${blocked} for this run: geode exec --allow unasked.example …\n`);
      const inside = await home.run(['sandbox', 'exec', 'plain', '--', ...code]);
      expect(inside.stderr).toBe(`${blocked}: geode egress allow plain unasked.example\n`);
      const rows = await search('--denied', '--search', 'unasked.example');
      expect(rows.map(({ rule, port }) => `${rule} ${port}`)).toEqual(Array(3).fill('deny-all 443'));

      await home.ok(['sandbox', 'create', 'closed', '--network', 'none']);
      for (const sealed of [
        ['run', '--network', 'none', 'python', ...code.slice(1)],
        ['exec', '-q', '--network', 'none', '--', ...code],
        ['sandbox', 'exec', 'closed', '--', ...code],
      ]) {
        const { stdout, stderr } = await home.run(sealed);
        expect(stdout).not.toContain('403');
        expect(stderr).not.toContain('Blocked');
      }
      const both = await home.run(['run', '--network', 'none', '--allow', own, 'python', '-c', '1']);
      expect(both.stderr).toContain('exclude each other');
      expect(await search('--denied', '--search', 'unasked.example')).toHaveLength(3);
    });

    it('NET-1 NET-7: the policy of a sandbox can change while it runs, outlives its host, and excludes a network of its own', async () => {
      await home.ok(['sandbox', 'create', 'demo', '--allow', 'npm']);
      const fetch = (path: string) =>
        home.run(['sandbox', 'exec', 'demo', '--', 'python3', '-c', get, `http://${own}${path}`]);
      const refused = await fetch('/first');
      expect(refused.stdout).toContain('403');
      const [, ask] = /Allow it: geode (.*)\n/.exec(refused.stderr) ?? [];
      expect(ask).toMatch(/^egress allow demo 127\.0\.0\.1:\d+$/);
      expect(await home.ok((ask ?? '').split(' '))).toContain(`allow ${own} (private address)`);
      expect((await fetch('/second')).stdout).toBe(`hello from ${own}/second\n`);
      await home.ok(['host', 'stop']);
      expect((await fetch('/third')).stdout).toBe(`hello from ${own}/third\n`);
      expect(await home.ok(['egress', 'deny', 'demo', own])).toContain(`deny ${own}`);
      expect((await fetch('/fourth')).stdout).toContain('403');
      const shown = await home.ok(['egress', 'ls', 'demo']);
      expect(shown.split('\n')).toEqual(
        expect.arrayContaining([
          'mode allow-list',
          'RULE   TARGET',
          `deny   ${own}`,
          'allow  registry.npmjs.org (npm)',
        ]),
      );
      const crossed = await search('demo');
      expect(crossed.map(({ verdict, path }) => `${verdict} ${path}`)).toEqual([
        'denied /fourth',
        'allowed /third',
        'allowed /second',
        'denied /first',
      ]);
      expect(crossed[1]).toMatchObject({ status: 200, address: '127.0.0.1', rule: own });
      expect(crossed[1]?.bytesIn).toBeGreaterThan(0);
      const [head, row] = (await home.ok(['egress', 'log', '--limit', '1'])).split('\n');
      expect(head).toMatch(/^WHEN +SANDBOX +VERDICT +STATUS +SENT +RECEIVED +REQUEST +RULE$/);
      expect(row).toMatch(/ local\/demo +denied .*GET \/fourth/);
      expect(await home.ok(['egress', 'log', '--limit', '1', '--wide'])).toContain('room-');
      const bridge = await home.run(['sandbox', 'create', 'other', '--network', 'bridge', '--allow', 'npm']);
      expect(bridge.code).not.toBe(0);
    });

    it('NET-1: geode egress default applies to new sandboxes and runs without a policy, until it is cleared', async () => {
      const fetched = async (path: string) =>
        (await home.run(['run', 'python', '-c', get, `http://${own}${path}`])).stdout;
      expect(await home.ok(['egress', 'default'])).toBe(
        'New sandboxes and runs may reach nothing unless they name a policy (not set).\n',
      );
      const said = await home.ok(['egress', 'default', '--allow', own]);
      expect(said).toBe(
        `New sandboxes and runs may reach this unless they name a policy (set by you).\nmode allow-list\nallow ${own} (private address)\n`,
      );
      expect(await home.ok(['egress', 'ls'])).toBe(said);
      expect(await fetched('/by-default')).toBe(`hello from ${own}/by-default\n`);
      await home.ok(['sandbox', 'create', 'after']);
      expect(await home.ok(['egress', 'ls', 'after'])).toContain(`allow  ${own} (private address)`);
      await home.ok(['host', 'stop']);
      expect(await fetched('/after-a-stop')).toBe(`hello from ${own}/after-a-stop\n`);
      expect(await home.ok(['egress', 'default', '--nothing'])).toContain(
        'may reach nothing unless they name a policy (set by you)',
      );
      expect(await fetched('/nothing')).not.toContain('hello');
      expect(await home.ok(['egress', 'ls', 'after'])).toContain(`allow  ${own} (private address)`);
      expect(await home.ok(['egress', 'default', '--clear'])).toContain('(not set)');
      const refused = await home.run(['egress', 'default', '--clear', '--nothing']);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--nothing, or --clear')]);
      await home.ok(['sandbox', 'rm', 'after']);
    });

    it('NET-1 NET-7: geode egress allow --inspect checks HTTPS requests, and the next host keeps the authority that programs trust', async () => {
      await home.ok(['sandbox', 'create', 'opened']);
      const there = `127.0.0.1:${secure.port}`;
      const rule = ['--inspect', '--method', 'get', '--path', '/v1/*', 'opened', there];
      expect(await home.ok(['egress', 'allow', ...rule])).toBe(
        `mode allow-list\nallow inspect:GET https://${there}/v1/* (private address) (TLS is opened on the host)\n`,
      );
      const fetch = (...paths: string[]) =>
        home.run([
          'sandbox',
          'exec',
          'opened',
          '--',
          'python3',
          '-c',
          `${get}print(open(os.environ['SSL_CERT_FILE']).read()[-300:])`,
          ...paths.map((path) => `https://${there}${path}`),
        ]);
      const first = await fetch('/v1/a', '/v2');
      expect(first.stdout).toContain(`hello from ${there}/v1/a\nHTTP Error 403: Geode: ${there}: the rule`);
      expect(first.stderr).toContain(
        `Allow it: geode egress allow opened 'inspect:GET https://${there}/v2'\n`,
      );
      await home.ok(['host', 'stop']);
      const second = await fetch('/v1/a', '/v2');
      expect(second.stdout).toBe(first.stdout);
      const crossed = await search('opened');
      expect(crossed.map(({ via, verdict, method, path }) => `${via} ${verdict} ${method} ${path}`)).toEqual([
        'inspected denied GET /v2',
        'inspected allowed GET /v1/a',
        'inspected denied GET /v2',
        'inspected allowed GET /v1/a',
      ]);
      expect(await home.ok(['secrets', 'ls'])).not.toContain('authority');
      expect(await home.ok(['egress', 'allow', 'opened', there])).toBe(
        `mode allow-list\nallow ${there} (private address)\n`,
      );
    });

    it('NET-3: a connection waits for geode approvals; a refusal is on stderr and in the JSON; learning writes the policy', async () => {
      await home.ok(['sandbox', 'create', 'asks', '--ask']);
      const fetch = (path: string, ...more: string[]) =>
        home.run([
          'sandbox',
          'exec',
          '--timeout',
          '250',
          ...more,
          'asks',
          '--',
          'python3',
          '-c',
          get,
          `http://${own}${path}`,
        ]);
      const watching = home.start('approvals', 'watch', '--json');
      let watched = '';
      watching.stdout.setEncoding('utf8').on('data', (text) => {
        watched += text;
      });
      const asked = (since: number) =>
        patiently(
          async () =>
            watched
              .split('\n')
              // The last one may not be whole yet.
              .slice(0, -1)
              .map((line) => JSON.parse(line) as Approval)
              .filter(({ state }) => state === 'open')[since] ?? false,
          'a question',
        );
      const once = fetch('/once');
      const first = await asked(0);
      expect(first).toMatchObject({ kind: 'egress', user: 'local', chat: 'asks' });
      const shown = await home.ok(['approvals', 'ls']);
      expect(shown).toContain(`${first.id}  egress of local/asks  Connect to the private address ${own}\n`);
      expect(shown).toContain('allow-once, allow-session, allow-always, deny');
      expect(await home.ok(['approvals', 'allow', first.id])).toContain('allow-once by socket');
      expect((await once).stdout).toBe(`hello from ${own}/once\n`);
      expect((await home.run(['approvals', 'deny', first.id])).stderr).toContain('already decided');

      const refusing = fetch('/no');
      await home.ok(['approvals', 'deny', (await asked(1)).id, '--answer', 'not today']);
      const refused = await refusing;
      expect(refused.stderr).toContain(
        `Blocked: ${own} (was denied by a person)\n  Allow it: geode egress allow asks ${own}\n`,
      );
      const { denied } = JSON.parse((await fetch('/no', '--json')).stdout) as { denied: Denial[] };
      expect(denied).toMatchObject([{ host: '127.0.0.1', port: server.port, rule: 'ask' }]);
      watching.kill('SIGINT');
      expect(await home.ok(['approvals', 'ls', '--all'])).toContain('deny by socket: not today');

      expect(await home.ok(['egress', 'ask'])).toBe('No permissions from answered requests.\n');
      expect(await home.ok(['egress', 'ask', '--off', 'asks'])).toBe('mode deny-all\n');
      await home.ok(['egress', 'allow', 'asks', own, 'never-used.example']);
      expect(await home.ok(['egress', 'learn', 'asks'])).toContain('mode learn');
      expect((await fetch('/lesson')).stdout).toContain('hello');
      const learned = await home.run(['egress', 'learn', '--stop', 'asks']);
      expect(learned.stdout).toBe(`mode allow-list\nallow GET http://${own}/lesson (private address)\n`);
      expect(learned.stderr).toBe(`geode: as options: --allow 'GET http://${own}/lesson'\n`);
      expect((await fetch('/lesson')).stdout).toContain('hello');
      expect((await fetch('/other')).stdout).toContain('403');
    });

    it('NET-6: geode sandbox open shows a server of a sandbox without a network, and reports a missing server', async () => {
      await home.ok(['sandbox', 'create', 'shows']);
      const none = await home.run(['sandbox', 'open', 'shows', '8000']);
      expect(none.code).toBe(1);
      expect(none.stderr).toContain('Nothing listens on port 8000 in the sandbox');
      expect((await home.run(['sandbox', 'open', 'shows', '0'])).code).toBe(2);
      expect((await home.run(['sandbox', 'open', 'nowhere', '8000'])).stderr).toContain(
        'no sandbox local/nowhere',
      );
      await home.ok(['sandbox', 'exec', '-b', 'shows', '--', 'python3', '-m', 'http.server', '8000']);
      const url = await patiently(async () => {
        const { code, stdout } = await home.run(['sandbox', 'open', 'shows', '8000']);
        return code === 0 && stdout.trim();
      }, 'the server');
      const { port, host, search, pathname } = new URL(url);
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        request({ port, path: pathname + search, headers: { host } }, resolve)
          .on('error', reject)
          .end();
      });
      answer.resume();
      expect(answer.statusCode).toBe(303);
    });

    it('a secret is stored, listed and removed without being shown, and its binding works in a sandbox that stays', async () => {
      const value = 'sk-test-0123456789-abcdefghij';
      expect((await home.run(['exec', '--bind', 'anthropic', '--', 'true'])).stderr).toContain(
        'geode secrets set anthropic',
      );
      expect(await home.ok(['secrets', 'set', 'anthropic'], `${value}\n`)).not.toContain(value);
      expect(await home.ok(['secrets', 'ls'])).toMatch(/^anthropic /);
      expect((await stat(join(home.folder, '.config/geode/secrets.key'))).mode & 0o777).toBe(0o600);
      await home.ok(['sandbox', 'create', 'bound', '--bind', `anthropic=http://${own}`]);
      const code = `import os, urllib.request; print(urllib.request.urlopen(os.environ['ANTHROPIC_BASE_URL'] + '/v1/models', timeout=40).status, os.environ['ANTHROPIC_API_KEY'])`;
      const shown = await home.ok(['sandbox', 'exec', 'bound', '--', 'python3', '-c', code]);
      expect(shown).toBe('200 geode-placeholder-the-real-key-stays-outside\n');
      expect(server.seen.at(-1)).toMatchObject({ url: '/v1/models', headers: { 'x-api-key': value } });
      expect(await home.ok(['secrets', 'rotate'])).toBe('Encrypted 1 secrets with a new key\n');
      await home.ok(['secrets', 'rm', 'anthropic']);
      expect((await home.run(['secrets', 'rm', 'anthropic'])).code).toBe(1);
    });
  },
);
