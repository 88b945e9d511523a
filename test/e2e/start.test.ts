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
    'CTX-1, CTX-2, CTX-3: shows the sandbox, then serves; the commands that it prints work as they stand',
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
      const lines: string[] = [];
      for await (const line of createInterface({ input: child.stdout })) {
        lines.push(line);
        if (line.startsWith('Ctrl-C')) break;
      }
      expect(lines).toContain('42');
      expect(lines.join('\n')).toContain('[Exit code: 1]');

      const commands = lines
        .slice(
          lines.findIndex((line) => line.startsWith('hub=')),
          -1,
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

      child.kill('SIGINT');
      expect(await ended).toEqual([0, null]);
    },
    120_000,
  );
});
