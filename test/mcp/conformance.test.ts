import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { mcpOverHttp } from '../../src/mcp/http.ts';
import { startTestServer } from '../api/server-fixture.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { conformanceServer } from './conformance-server.ts';

const program = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);
/** As docs/mcp.md says it. */
const scenarios = 30;

test('MCP-5: passes every scenario of the public conformance suite’s default run', {
  timeout: 300_000,
}, async () => {
  using folder = temporaryFolder();
  await using server = await startTestServer({
    auth: 'off',
    parts: { mcp: mcpOverHttp('0.0.0-test', conformanceServer) },
  });
  const said = await runSuite(`${server.url}/mcp`, folder.path);
  const results = [...said.matchAll(/^(?:✓|✗) ([\w-]+): (\d+) passed, (\d+) failed/gm)].map(
    ([, name, passed, failed]) => ({ name, passed: Number(passed), failed: Number(failed) }),
  );
  expect(results, said).toHaveLength(scenarios);
  expect(
    results.filter(({ passed, failed }) => passed === 0 || failed > 0),
    said,
  ).toEqual([]);
});

function runSuite(url: string, cwd: string): Promise<string> {
  const options = { cwd, timeout: 240_000, maxBuffer: 64 * 1024 * 1024, env: { PATH: process.env.PATH } };
  return new Promise((resolve) => {
    execFile(process.execPath, [program, 'server', '--url', url], options, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}
