import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { knownPrices } from '../../src/base/prices.ts';
import { parseBinding } from '../../src/contract/egress-bindings.ts';
import { policyOf } from '../../src/contract/egress-rules.ts';
import { type EgressHost, openEgress } from '../../src/egress/open-egress.ts';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import type { EgressSpec } from '../../src/seams/egress.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { eventually, type Harness, openHarness } from '../contracts/harness.ts';
import { httpUpstream, type Upstream } from './upstreams.ts';

const { bubblewrap } = inject('engines');
const realKey = 'sk-real-key-0123456789abcdefghijklmnop';

/** A scripted model: it streams one half, and the other when it is asked to go on. */
function scriptedModel(): Promise<Upstream> {
  let finish = () => {};
  return httpUpstream((request, response) => {
    const url = request.url ?? '';
    if (url.endsWith('/continue')) {
      finish();
      return void response.end('{}');
    }
    if (url.endsWith('/echo')) {
      response.setHeader('x-echo', JSON.stringify(request.headers));
      const body = Buffer.from(JSON.stringify(request.headers));
      // In small pieces, so that the key is never in one of them.
      for (let at = 0; at < body.length; at += 7) response.write(body.subarray(at, at + 7));
      return void response.end();
    }
    if (url.endsWith('/packed')) {
      response.setHeader('content-encoding', 'gzip');
      return void response.end('whatever');
    }
    if (url.endsWith('/chat/completions')) {
      response.setHeader('content-type', 'application/json');
      const usage = {
        prompt_tokens: 1000,
        completion_tokens: 200,
        prompt_tokens_details: { cached_tokens: 400 },
      };
      return void response.end(JSON.stringify({ model: 'gpt-4o-2024', usage }));
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (data: unknown) => response.write(`data: ${JSON.stringify(data)}\n\n`);
    send({
      type: 'message_start',
      message: { model: 'claude-sonnet-4', usage: { input_tokens: 100, cache_read_input_tokens: 50 } },
    });
    send({ type: 'content_block_delta', delta: { text: 'first' } });
    finish = () => {
      send({ type: 'content_block_delta', delta: { text: 'second' } });
      send({ type: 'message_delta', usage: { output_tokens: 30 } });
      response.end();
    };
  });
}

describe.skipIf(!bubblewrap.available)(
  `bindings${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  () => {
    let harness: Harness;
    let upstream: Upstream;
    let folder: string;
    let egress: EgressHost;
    const openAgain = (budgetPerDay: number | null) =>
      openEgress({
        ledgerFile: join(folder, 'ledger.db'),
        secretsKeyFile: join(folder, 'keys', 'secrets.key'),
        audit: { mostRecords: 1_000, keepMs: 3_600_000 },
        usage: { prices: knownPrices, budgetPerDay },
        warn: () => {},
      });
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'geode-test-'));
      [harness, upstream] = await Promise.all([openHarness(bubblewrapRuntime), scriptedModel()]);
      egress = openAgain(null);
      for (const name of ['anthropic', 'openai']) egress.secrets.set('alice', name, realKey);
    });
    afterAll(async () => {
      egress?.[Symbol.dispose]();
      await harness?.close();
      await upstream?.[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    });

    const spec = (): EgressSpec => ({
      policy: policyOf({}),
      bindings: [
        { name: 'anthropic', upstream: `http://127.0.0.1:${upstream.port}` },
        { name: 'openai', upstream: `http://127.0.0.1:${upstream.port}/v1` },
      ],
    });
    const hatchFor = (sandbox: Sandbox) =>
      egress.open(sandbox, { sandboxId: sandbox.id, user: 'alice' }, spec());

    it('NET-4: add the real key to a model request of a program without one, stream the answer, and count its usage', async () => {
      await using sandbox = await harness.open();
      using hatch = await hatchFor(sandbox);
      const code = `
import json, os, urllib.request
def post(url, **headers):
    request = urllib.request.Request(url, data=b'{"stream": true}', headers=headers, method='POST')
    return urllib.request.urlopen(request, timeout=40)
base, key = os.environ['ANTHROPIC_BASE_URL'], os.environ['ANTHROPIC_API_KEY']
answer = post(base + '/v1/messages', **{'x-api-key': key, 'authorization': 'Bearer ' + key})
for line in answer:
    if b'first' in line:
        print('first', flush=True)
        urllib.request.urlopen(base + '/v1/continue', timeout=40).read()
    if b'second' in line: print('second', flush=True)
print(json.load(post(os.environ['OPENAI_BASE_URL'] + '/chat/completions'))['model'])
`;
      const result = await sandbox.exec({ argv: ['python3', '-c', code], env: hatch.env, timeoutMs: 50_000 });
      expect(result.stderr).toBe('');
      expect(result.stdout).toBe('first\nsecond\ngpt-4o-2024\n');
      const [call] = upstream.seen.filter(({ url }) => url === '/v1/messages');
      expect(call?.headers['x-api-key']).toBe(realKey);
      expect(call?.headers.authorization).toBeUndefined();
      const [chat] = upstream.seen.filter(({ url }) => url === '/v1/chat/completions');
      expect(chat?.headers.authorization).toBe(`Bearer ${realKey}`);
      // A call is counted when its last byte has passed, which may be after the program has ended.
      const usage = await eventually(async () => {
        const sums = egress.usage('alice');
        return sums.length === 2 && sums;
      }, 'both calls in the usage');
      expect(usage).toMatchObject([
        {
          binding: 'openai',
          model: 'gpt-4o-2024',
          calls: 1,
          inputTokens: 1000,
          outputTokens: 200,
          cachedTokens: 400,
          costUsd: 0.004,
        },
        {
          binding: 'anthropic',
          model: 'claude-sonnet-4',
          calls: 1,
          inputTokens: 150,
          outputTokens: 30,
          cachedTokens: 50,
          costUsd: 0.000765,
        },
      ]);
    });

    it('NET-4: never show the real credential inside: not in an echo, not in the environment, processes or files', async () => {
      await using sandbox = await harness.open();
      using hatch = await hatchFor(sandbox);
      const code = `
import glob, os, urllib.request, urllib.error
answer = urllib.request.urlopen(os.environ['ANTHROPIC_BASE_URL'] + '/v1/echo', timeout=40)
print(answer.headers['x-echo'], answer.read().decode())
answer = urllib.request.urlopen(os.environ['OPENAI_BASE_URL'] + '/echo', timeout=40)
print(answer.read().decode())
try: urllib.request.urlopen(os.environ['OPENAI_BASE_URL'] + '/packed', timeout=40)
except urllib.error.HTTPError as error: print(error.code)
for path in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):
    try: print(open(path).read())
    except OSError: pass
print(os.environ)
`;
      const result = await sandbox.exec({ argv: ['python3', '-c', code], env: hatch.env, timeoutMs: 50_000 });
      expect(result.stderr).toBe('');
      expect(result.stdout).toContain('*'.repeat(realKey.length));
      expect(result.stdout).toContain('\n502\n');
      expect(result.stdout).not.toContain(realKey);
      for (const place of [folder, harness.options.stateDir])
        expect(await filesHolding(place, realKey)).toEqual([]);
    });

    it('reach only the paths of their own upstream', async () => {
      await using sandbox = await harness.open();
      using hatch = await hatchFor(sandbox);
      const before = upstream.seen.length;
      const code = `
import os, http.client
host = os.environ['OPENAI_BASE_URL'].split('/')[2]
def ask(path, **headers):
    c = http.client.HTTPConnection(host, timeout=40); c.putrequest('GET', path, skip_host=True)
    for name, value in headers.items(): c.putheader(name, value)
    c.endheaders(); return c.getresponse().status
print(ask('/other', host='x'), ask('/v1/../other', host='x'), ask('/v1/%2e%2e/other', host='x'), ask('http://evil.test/v1/', host='x'))
print(ask('/v1/echo', host='evil.test'))
`;
      const result = await sandbox.exec({ argv: ['python3', '-c', code], env: hatch.env, timeoutMs: 50_000 });
      expect(result.stdout, result.stderr).toBe('404 404 404 404\n200\n');
      expect(upstream.seen.slice(before).map(({ url, headers }) => [url, headers.host])).toEqual([
        ['/v1/echo', `127.0.0.1:${upstream.port}`],
      ]);
    });

    it('add a credential once in the query or as user and password, and drop credentials of the client', async () => {
      const [token, login] = ['tok/en+with=signs&more', 'reader:pass/word?'];
      await using echo = await httpUpstream((request, response) =>
        response.end(JSON.stringify([request.url, request.headers])),
      );
      egress.secrets.set('alice', 'tickets', token);
      egress.secrets.set('alice', 'wiki', login);
      await using sandbox = await harness.open();
      using hatch = await egress.open(
        sandbox,
        { sandboxId: sandbox.id, user: 'alice' },
        {
          policy: policyOf({}),
          bindings: [
            parseBinding(`tickets=http://127.0.0.1:${echo.port}/t add=query:token`),
            parseBinding(`wiki=http://127.0.0.1:${echo.port}/w add=basic`),
          ],
        },
      );
      const before = echo.seen.length;
      const code = `
import os, urllib.request
def ask(url, **headers):
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=40).read().decode()
tickets, wiki = os.environ['TICKETS_URL'], os.environ['WIKI_URL']
print(ask(tickets + '/echo'))
print(ask(tickets + '/a/echo?q=1&token=mine&%74oken=mine&q=2', Authorization='Bearer mine'))
print(ask(wiki + '/echo?token=kept', Authorization='Basic bWluZQ=='))
print(os.environ)
`;
      const result = await sandbox.exec({ argv: ['python3', '-c', code], env: hatch.env, timeoutMs: 50_000 });
      expect(result.stderr).toBe('');
      const basic = `Basic ${Buffer.from(login).toString('base64')}`;
      expect(
        echo.seen.slice(before).map(({ url, headers: { authorization } }) => [url, authorization]),
      ).toEqual([
        [`/t/echo?token=${encodeURIComponent(token)}`, undefined],
        [`/t/a/echo?q=1&q=2&token=${encodeURIComponent(token)}`, undefined],
        ['/w/echo?token=kept', basic],
      ]);
      for (const secret of [token, login, encodeURIComponent(token), basic.slice(6)])
        expect(result.stdout).not.toContain(secret);
      const audit = await eventually(async () => {
        const records = egress.search({ sandboxId: sandbox.id });
        return records.length === 3 && records;
      }, 'all three in the audit');
      expect(audit.map(({ via, path }) => [via, path]).sort()).toEqual([
        ['binding', '/t/a/echo'],
        ['binding', '/t/echo'],
        ['binding', '/w/echo'],
      ]);
      for (const name of ['tickets', 'wiki']) egress.secrets.remove('alice', name);
    });

    it('drop client headers that would add, repeat or remove a credential', async () => {
      await using sandbox = await harness.open();
      using hatch = await hatchFor(sandbox);
      const before = upstream.seen.length;
      const code = `
import os, socket
host, port = os.environ['OPENAI_BASE_URL'].split('/')[2].split(':')
def send(*lines):
    s = socket.create_connection((host, int(port)), 40)
    s.sendall(('\\r\\n'.join(['GET /v1/echo HTTP/1.1', 'Host: x', 'Connection: close', *lines]) + '\\r\\n\\r\\n').encode('latin1'))
    got = b''
    try:
        while more := s.recv(65536): got += more
    except ConnectionError: pass
    print(got.split(b'\\r\\n')[0].decode() or 'closed')
send('authorization: Bearer mine', 'AUTHORIZATION: Bearer mine', 'X-Api-Key: mine')
send('Connection: authorization, x-api-key', 'Proxy-Connection: authorization')
send('X-A: a\\nAuthorization: Bearer mine')
send('X-A: a\\r\\n Authorization: Bearer mine')
send('X-A: a\\rAuthorization: Bearer mine')
send('Authorization : Bearer mine')
send('X-A: a\\0b')
send('Transfer-Encoding: chunked', 'Content-Length: 4', '', '0', '', 'GET /v1/echo?smuggled HTTP/1.1', 'Host: x')
`;
      const result = await sandbox.exec({ argv: ['python3', '-c', code], env: hatch.env, timeoutMs: 50_000 });
      expect(result.stderr).toBe('');
      const answers = result.stdout.trim().split('\n');
      expect(answers.slice(0, 2)).toEqual(['HTTP/1.1 200 OK', 'HTTP/1.1 200 OK']);
      const seen = upstream.seen.slice(before);
      expect(seen.map(({ url }) => url)).not.toContain('/v1/echo?smuggled');
      expect(seen.length).toBe(answers.filter((answer) => answer.includes('200')).length);
      for (const { headers } of seen) {
        expect(headers.authorization).toBe(`Bearer ${realKey}`);
        expect(headers['x-api-key']).toBeUndefined();
        expect(JSON.stringify(headers)).not.toContain('"Bearer mine');
      }
    });

    it('refuse before the call when the budget is spent, and before anything opens when the secret is missing', async () => {
      await using sandbox = await harness.open();
      {
        using poor = openAgain(0.000_001);
        using hatch = await poor.open(sandbox, { sandboxId: sandbox.id, user: 'alice' }, spec());
        const before = upstream.seen.length;
        const code = `
import os, urllib.request, urllib.error
try: urllib.request.urlopen(os.environ['OPENAI_BASE_URL'] + '/chat/completions', data=b'{}', timeout=40)
except urllib.error.HTTPError as error: print(error.code, error.read().decode())
`;
        const result = await sandbox.exec({
          argv: ['python3', '-c', code],
          env: hatch.env,
          timeoutMs: 50_000,
        });
        expect(result.stdout).toMatch(/^402 .*the budget for today is spent/);
        expect(upstream.seen.length).toBe(before);
      }
      await expect(
        egress.open(sandbox, { sandboxId: sandbox.id, user: 'bob' }, spec()),
      ).rejects.toMatchObject({
        code: 'secret_missing',
        hint: expect.stringContaining('geode secrets set anthropic'),
      });
    });

    it('keep secrets sealed with a key in a separate file that only the owner can read', async () => {
      const keyFile = join(folder, 'keys', 'secrets.key');
      expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
      const oldKey = await readFile(keyFile, 'utf8');
      expect(egress.secrets.rotate()).toBe(2);
      expect(await readFile(keyFile, 'utf8')).not.toBe(oldKey);
      expect(egress.secrets.list('alice').map(({ name }) => name)).toEqual(['anthropic', 'openai']);
      expect(egress.secrets.list('bob')).toEqual([]);
      expect(await filesHolding(folder, realKey)).toEqual([]);
      await using sandbox = await harness.open();
      (await hatchFor(sandbox))[Symbol.dispose]();
      const newKey = await readFile(keyFile);
      await writeFile(keyFile, oldKey, { mode: 0o600 });
      await expect(hatchFor(sandbox)).rejects.toThrow(/its key is missing or was replaced/);
      await writeFile(keyFile, newKey);
      expect(egress.secrets.remove('alice', 'openai')).toBe(true);
      expect(egress.secrets.remove('alice', 'openai')).toBe(false);
    });
  },
);

/** Disks of sandboxes are looked at from inside. */
const largestFile = 64 * 1024 ** 2;

async function filesHolding(folder: string, needle: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const found = files.map(async (file) => {
    const { size } = await stat(file);
    return size <= largestFile && (await readFile(file)).includes(needle) ? [file] : [];
  });
  return (await Promise.all(found)).flat();
}
