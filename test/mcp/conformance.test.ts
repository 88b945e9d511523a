import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { mcpOverHttp } from '../../src/mcp/http.ts';
import { startTestServer } from '../api/server-fixture.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { conformanceServer } from './conformance-server.ts';

const program = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);
/** The scenarios that count for a version of the protocol, as docs/mcp.md says it. */
const sets = [
  { version: '2025-11-25', scenarios: 30 },
  { version: '2026-07-28', scenarios: 37 },
];

for (const { version, scenarios } of sets)
  test(`MCP-5: passes every scenario that the public conformance suite requires for ${version}`, {
    timeout: 300_000,
  }, async () => {
    using folder = temporaryFolder();
    await using server = await startTestServer({
      parts: { mcp: mcpOverHttp('0.0.0-test', conformanceServer) },
    });
    expect((await fetch(`${server.url}/mcp`, { method: 'POST' })).status).toBe(401);
    await using front = await addingKey(server.url, server.key('alice'));
    const said = await runSuite(`${front.url}/mcp`, version, folder.path);
    const [, summary = '', notScored = ''] = said.split(/=== SUMMARY ===|^Not scored for /m);
    // Extensions that Geode does not offer, and scenarios that the suite itself does not count yet.
    const others = [...notScored.matchAll(/^ +(?:✓|✗) ([\w-]+) \(/gm)].map(([, name]) => name);
    const results = [...summary.matchAll(/^(?:✓|✗) ([\w-]+): (\d+) passed, (\d+) failed/gm)]
      .map(([, name, passed, failed]) => ({ name, passed: Number(passed), failed: Number(failed) }))
      .filter(({ name }) => !others.includes(name));
    expect(results, said).toHaveLength(scenarios);
    expect(
      results.filter(({ passed, failed }) => passed === 0 || failed > 0),
      said,
    ).toEqual([]);
  });

/** The suite sends no key: this passes its requests on with one, and changes nothing else. */
async function addingKey(url: string, key: string) {
  const server = createServer((incoming, outgoing) => {
    const { method, url: path = '/', headers } = incoming;
    const sent = { ...headers, authorization: `Bearer ${key}` };
    const onward = request(new URL(path, url), { method, headers: sent }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.once('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

function runSuite(url: string, version: string, cwd: string): Promise<string> {
  const options = { cwd, timeout: 240_000, maxBuffer: 64 * 1024 * 1024, env: { PATH: process.env.PATH } };
  const argv = [program, 'server', '--url', url, '--requirements', version];
  return new Promise((resolve) => {
    execFile(process.execPath, argv, options, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
}
