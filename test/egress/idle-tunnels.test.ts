import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { eventually, type Harness, openHarness } from '../contracts/harness.ts';
import { allowing, hatchOf, toHere } from './hatch-fixture.ts';
import { echoUpstream, httpUpstream, type Upstream } from './upstreams.ts';

const { bubblewrap } = inject('engines');
const idle = 2_000;
const most = 2_500;
const megabyte = 1024 ** 2;

/** Opens tunnels, waits for a line, opens more until one is refused, and reports it. Ends at the end of stdin. */
const client = `
import os, socket, sys, urllib.request
host, port = os.environ['HTTP_PROXY'][7:].split(':')
target, url = sys.argv[1:]
tunnels = []
def some(count):
    opened = [socket.create_connection((host, int(port)), 60) for _ in range(count)]
    for one in opened: one.sendall(f'CONNECT {target} HTTP/1.1\\r\\n\\r\\n'.encode())
    answers = {one: one.recv(4096).decode().split('\\r\\n')[0] for one in opened}
    for one, answer in answers.items():
        if ' 200 ' in answer:
            one.sendall(b'\\0')
            assert one.recv(1) == b'\\0'
            tunnels.append(one)
    return [answer for answer in answers.values() if ' 200 ' not in answer]
def beside():
    return urllib.request.urlopen(url, timeout=60).read().decode()
refused = []
while len(tunnels) < ${idle}: refused += some(50)
print(len(tunnels), refused, beside(), flush=True)
sys.stdin.readline()
while not refused: refused = some(50)
print(len(tunnels), refused[0], flush=True)
for one in tunnels[:100]: one.close()
del tunnels[:100]
sys.stdin.readline()
print(beside(), flush=True)
sys.stdin.readline()
`;

describe.skipIf(!bubblewrap.available)(
  bubblewrap.available ? 'thousands of idle tunnels' : `idle tunnels (skipped: ${bubblewrap.reason})`,
  () => {
    let harness: Harness;
    let echo: Upstream;
    let plain: Upstream;
    beforeAll(async () => {
      [harness, echo, plain] = await Promise.all([
        openHarness(bubblewrapRuntime),
        echoUpstream(),
        httpUpstream(),
      ]);
    });
    afterAll(async () => {
      await harness?.close();
      await Promise.all([echo, plain].map((server) => server?.[Symbol.asyncDispose]()));
    });

    it('leave room for other connections, use little memory, end at a reported limit, and end with the sandbox', {
      timeout: 300_000,
    }, async () => {
      const sandbox = await harness.open();
      const opened = await hatchOf(
        sandbox,
        allowing(toHere('allowed.test', echo.port), toHere('allowed.test', plain.port)),
      );
      using _hatch = opened.hatch;
      const hostBefore = process.memoryUsage.rss();
      const running = await sandbox.spawn({
        argv: [
          'python3',
          '-c',
          client,
          `allowed.test:${echo.port}`,
          `http://allowed.test:${plain.port}/beside`,
        ],
        env: opened.hatch.env,
        interactive: true,
        timeoutMs: null,
      });
      const lines = linesOf(running);

      expect(await lines()).toBe(`${idle} [] hello from allowed.test:${plain.port}/beside`);
      await eventually(async () => echo.connections.size === idle, 'all of them at the server');
      expect((await sandbox.exec({ argv: ['echo', 'beside them'] })).stdout).toBe('beside them\n');
      expect((await sandbox.metrics()).guestRssBytes).toBeLessThan(200 * megabyte);
      expect(process.memoryUsage.rss() - hostBefore).toBeLessThan(300 * megabyte);

      await running.write('\n');
      expect(await lines()).toBe(
        `${most} HTTP/1.1 503 Geode: this sandbox has ${most} open connections, the maximum`,
      );
      expect(opened.audit.filter(({ status }) => status === 503)[0]).toMatchObject({
        verdict: 'failed',
        rule: 'connections at once',
      });
      await eventually(async () => echo.connections.size === most - 100, 'those that were closed');
      await running.write('\n');
      expect(await lines()).toBe(`hello from allowed.test:${plain.port}/beside`);

      await sandbox.stop();
      await eventually(async () => echo.connections.size === 0, 'the end of all of them');
    });
  },
);

/** The number in stdout; other output is the reason of a failure. */
function linesOf(running: AsyncIterable<{ type: string; bytes?: Uint8Array }>): () => Promise<string> {
  const events = running[Symbol.asyncIterator]();
  let seen = '';
  let complaint = '';
  return async () => {
    for (;;) {
      const end = seen.indexOf('\n');
      if (end !== -1) {
        const line = seen.slice(0, end);
        seen = seen.slice(end + 1);
        return line;
      }
      const { value, done } = await events.next();
      if (done) throw new Error(`The client has ended: ${complaint}`);
      const text = Buffer.from(value.bytes ?? []).toString();
      if (value.type === 'stdout') seen += text;
      else complaint += text;
    }
  };
}
