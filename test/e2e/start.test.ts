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
    'CTX-1, CTX-2, CTX-3, PKG-1: shows the sandbox, then serves; the link and the key that it prints work',
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
        if (line.startsWith('Stop with Ctrl-C')) break;
      }
      expect(lines.length).toBeLessThanOrEqual(15);
      const answers = lines.filter((line) => line.startsWith('  python  ')).map((line) => line.slice(46));
      expect(answers).toEqual([
        '42',
        'blocked: no rule allows example.com',
        'not there: the sandbox has its own files',
      ]);
      const shown = lines.join('\n');
      const [, api = '', key = ''] = /^API +(\S+)\/reference {3}key: (\S+)$/m.exec(shown) ?? [];
      const script = `
hub=${api}/api/v1/context auth="Authorization: Bearer ${key}"
call() { curl -sf -w '\\n' "$@" -H "$auth"; }
call $hub/ingest -H "Content-Type: application/json" -d \\
  '{"id": "notes/deploy", "content": "Deploys run from the release branch", "category": "project", "source": "runbook"}'
call "$hub/search?q=how+do+we+deploy&limit=3"
call $hub/notes/deploy
call $hub/categories`;
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
      const [url = '', code = ''] = /^Dashboard +(\S+)/m.exec(shown)?.[1]?.split('/#/login/') ?? [];
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
