import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';

const { bubblewrap } = inject('engines');
const demo = fileURLToPath(new URL('../../scripts/demo.ts', import.meta.url));

describe('npm start', () => {
  test.skipIf(!bubblewrap.available)(
    'CTX-1, CTX-2, CTX-3, PKG-1: shows the sandbox, then serves; the commands that it prints work as they stand',
    async () => {
      using home = temporaryFolder();
      const child = spawn(process.execPath, [demo, '--port', '0'], {
        stdio: ['ignore', 'pipe', 'ignore'],
        env: {
          PATH: process.env.PATH,
          HOME: home.path,
          XDG_CACHE_HOME: process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
          GEODE_RUNTIME_NAME: 'bubblewrap',
        },
      });
      const ended = once(child, 'exit');
      await using _child = {
        async [Symbol.asyncDispose]() {
          child.kill('SIGINT');
          await ended;
        },
      };
      const lines: string[] = [];
      for await (const line of createInterface({ input: child.stdout })) {
        lines.push(line);
        if (line.includes('/#/login/')) break;
      }
      expect(lines).toContain('42');
      expect(lines.join('\n')).toContain('[Exit code: 1]');

      const commands = lines
        .slice(
          lines.findIndex((line) => line.startsWith('hub=')),
          lines.findIndex((line) => line.startsWith('Ctrl-C')),
        )
        .join('\n');
      const script = commands.replaceAll('curl -s ', "curl -sf -w '\\n' ");
      const { stdout } = await promisify(execFile)('bash', ['-euc', script]);
      const [ingested, found, read, counted] = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(ingested).toMatchObject({ id: 'notes/deploy', outcome: 'created' });
      expect(found.results[0]).toMatchObject({ id: 'notes/deploy' });
      expect(read).toMatchObject({ content: 'Deploys run from the release branch', sources: ['runbook'] });
      expect(counted.categories).toContainEqual({ name: 'project', count: 1 });

      // The link opens the dashboard, where the demo's sandbox is; a code works once.
      const [url = '', code = ''] = lines.at(-1)?.split('/#/login/') ?? [];
      const page = await fetch(url);
      expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
      const logIn = () =>
        fetch(`${url}/login`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ code }),
        });
      const cookie = (await logIn()).headers.get('set-cookie')?.split(';')[0] ?? '';
      const headers = { cookie, 'sec-fetch-site': 'same-origin' };
      const answer = await fetch(`${url}/api/v1/sandboxes`, { headers });
      expect(await answer.json()).toMatchObject({ sandboxes: [{ chat: 'demo', state: 'running' }] });
      expect((await logIn()).status).toBe(401);

      child.kill('SIGINT');
      expect(await ended).toEqual([0, null]);
    },
    120_000,
  );
});
