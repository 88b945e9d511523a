/** Where a secret may be seen, and where it must not: searched on a real host, in real walls. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { spellingsOf } from '../../src/base/secret-shapes.ts';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { eventually } from '../contracts/harness.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';
import { httpUpstream, type Upstream } from './upstreams.ts';

const { bubblewrap } = inject('engines');
const patience = { timeout: 180_000 } as const;

/** A secret without the shape of a known key. */
const value = 'plain+words/that\\are"secret=7';
const shaped = `sk-ant-${'x7'.repeat(20)}`;

/** Calls the bound service, which returns the received request, and searches its own sandbox for keys. */
const search = `
import os, urllib.request
print(urllib.request.urlopen(os.environ['ANTHROPIC_BASE_URL'] + '/echo', timeout=60).read().decode())
print(dict(os.environ))
for pid in filter(str.isdigit, os.listdir('/proc')):
    for name in ('environ', 'cmdline'):
        try: print(open('/proc/%s/%s' % (pid, name), 'rb').read())
        except OSError: pass
for top in (os.getcwd(), '/tmp', os.path.expanduser('~')):
    for folder, _, names in os.walk(top):
        for name in names:
            if os.path.isfile(os.path.join(folder, name)): print(open(os.path.join(folder, name), 'rb').read(1000000))
`;

describe.skipIf(!bubblewrap.available)(
  `secrets${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  patience,
  () => {
    let world: HostWorld;
    let opened: OpenedHost;
    let ann: GeodeClient;
    let server: Upstream;
    beforeAll(async () => {
      world = hostWorld({ GEODE_RUNTIME_NAME: 'bubblewrap' });
      opened = await world.open();
      ann = createClient(unixTransport(opened.socket.path)).as('ann');
      server = await httpUpstream((request, response) => response.end(JSON.stringify(request.headers)));
      await ann.secrets.set('anthropic', value);
      const egress = {
        bindings: [{ name: 'anthropic', upstream: `http://127.0.0.1:${server.port}` }],
      };
      await ann.sandboxes.getOrCreate('demo', { egress });
    }, 120_000);
    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
      await world?.[Symbol.asyncDispose]();
    }, 120_000);

    const isIn = (text: string) => spellingsOf([value]).some((spelling) => text.includes(spelling));

    it('NET-5: the secret of a used binding appears in no output, env, /proc, journal, audit, memory or file', async () => {
      const sandbox = ann.sandboxes.of('demo');
      const { stdout, exitCode } = await sandbox.exec({
        argv: ['python3', '-c', search],
        timeoutMs: 100_000,
      });
      expect(exitCode).toBe(0);
      expect(server.seen.at(-1)?.headers['x-api-key']).toBe(value);
      expect(stdout).toContain('geode-placeholder');
      expect(isIn(stdout)).toBe(false);
      // A call is in the log when its last byte has passed, which may be after the program has ended.
      const log = await eventually(async () => {
        const records = await ann.egress.log();
        return records.length > 0 && records;
      }, 'the call in the log');
      expect(log).toMatchObject([{ via: 'binding', path: '/echo', verdict: 'allowed' }]);
      expect(isIn(JSON.stringify(log))).toBe(false);

      const files = await readdir(world.folder, { recursive: true, withFileTypes: true });
      const paths = files
        .filter((file) => file.isFile())
        .map(({ parentPath, name }) => join(parentPath, name));
      expect(paths.some((path) => path.endsWith('ledger.db'))).toBe(true);
      expect(paths.some((path) => path.includes('journals'))).toBe(true);
      // The disk of a workspace is sparse and large; what is in it was looked at from the inside.
      const readable = paths.filter((path) => !path.endsWith('.img'));
      for (const path of readable) expect(isIn((await readFile(path)).toString('latin1')), path).toBe(false);
      const keyFile = paths.find((path) => path.endsWith('secrets.key')) ?? '';
      expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
    });

    it('NET-5: a stored secret in a command is redacted in results, journals, memory, the audit and the log', async () => {
      const sandbox = ann.sandboxes.of('demo');
      const print = [
        'python3',
        ...['-c', 'import sys; print("a", sys.argv[1], "b", sys.argv[2])', value, shaped],
      ] as const;
      const shown = await sandbox.exec({ argv: print });
      // Text that only looks like a key may be the wanted output of a program.
      expect(shown.stdout).toBe(`a [redacted] b ${shaped}\n`);
      const run = await ann.runs.run('import sys; print("a", sys.argv[1], "b")', 'python', { argv: [value] });
      expect(run.stdout).toBe('a [redacted] b\n');

      const journals = await sandbox.journals.list();
      const { processId } = journals.find(({ facts }) => facts?.argv.includes('[redacted]')) ?? {
        processId: '',
      };
      const lines = JSON.stringify([journals, await sandbox.journals.tail(processId, 10)]);
      expect(lines).toContain('a [redacted] b [redacted]');
      expect(isIn(lines) || lines.includes(shaped)).toBe(false);

      const text = `The key is ${value}, and the other is ${shaped}`;
      await ann.ingest({ id: 'note', content: text, category: 'core', source: 'test' });
      const { content } = await ann.get('note');
      expect(isIn(content) || content.includes(shaped)).toBe(false);
      expect(content).toContain('[secret removed]');

      const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
      opened.host.log.warn({ key: value, other: shaped }, `It failed with ${value}`);
      const line = written.mock.calls.join('');
      written.mockRestore();
      expect(line).toContain('It failed with [redacted]');
      expect(isIn(line) || line.includes(shaped)).toBe(false);
    });

    it("NET-5: another user's output does not reveal whether a value is a secret of another user", async () => {
      const bob = createClient(unixTransport(opened.socket.path)).as('bob');
      const run = await bob.runs.run('import sys; print(sys.argv[1])', 'python', { argv: [value] });
      expect(run.stdout).toBe(`${value}\n`);
    });
  },
);
