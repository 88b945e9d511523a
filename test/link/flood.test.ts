import { expect, it } from 'vitest';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import { openHarness } from '../contracts/harness.ts';
import { eachOf } from '../each-of.ts';

const megabyte = 1024 ** 2;

it('GL-3: unread floods do not block commands, files or tunnels, and do not grow the memory of either side', async () => {
  const harness = await openHarness(nativeRuntime);
  try {
    const sandbox = await harness.open();
    const code = [
      'import socket',
      's = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True)',
      'c, _ = s.accept(); c.sendall(c.recv(100)); c.close()',
    ].join('\n');
    const server = await sandbox.spawn({ argv: ['python3', '-c', code] });
    let port = 0;
    for await (const event of server) {
      if (event.type === 'stdout') port = Number(Buffer.from(event.bytes).toString());
      if (port > 0) break;
    }
    const before = process.memoryUsage().rss;
    const floods = await Promise.all(
      Array.from({ length: 4 }, () =>
        sandbox.spawn({ argv: ['head', '-c', '500000000', '/dev/zero'], timeoutMs: null }),
      ),
    );
    const content = Buffer.alloc(20 * megabyte, 'x');
    const echo = async () => {
      const tunnel = await sandbox.tunnel(port);
      tunnel.write('through');
      for await (const chunk of tunnel) return String(chunk);
    };
    const [outputs, echoed] = await Promise.all([
      Promise.all(Array.from({ length: 20 }, () => sandbox.exec({ argv: ['echo', 'ok'] }))),
      echo(),
      sandbox.files.write('big', content),
    ]);
    expect(eachOf(outputs).every(({ stdout }) => stdout === 'ok\n')).toBe(true);
    expect(echoed).toBe('through');
    expect(content.equals(await sandbox.files.read('big'))).toBe(true);
    const { guestRssBytes } = await sandbox.metrics();
    expect(guestRssBytes).toBeLessThan(100 * megabyte);
    // The test itself holds the file at most three times.
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * megabyte);
    await Promise.all(floods.map((flood) => flood.kill()));
  } finally {
    await harness.close();
  }
});
