import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startTestHost } from './host-fixture.ts';

test('the example of docs/http-api.md runs unchanged', { timeout: 240_000 }, async () => {
  await using host = await startTestHost();
  const document = readFileSync(new URL('../../docs/http-api.md', import.meta.url), 'utf8');
  const [, script = ''] = /```sh\n(.*?)```/s.exec(document) ?? [];
  expect(script).toContain('curl');
  const { stdout } = await promisify(execFile)('/bin/bash', ['-euo', 'pipefail', '-c', script], {
    env: { PATH: process.env.PATH, GEODE_URL: host.server.url, GEODE_KEY: host.server.key('alice') },
    timeout: 180_000,
  });
  expect(stdout).toContain('"state":"running"');
  expect(stdout).toContain('"stdout":"42\\n"');
  expect(stdout).toContain('"name":"todo.txt"');
  expect(stdout).toContain('{"removed":true}');
});
