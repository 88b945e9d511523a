import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { type Harness, openHarness } from '../contracts/harness.ts';
import { type Entry, readCorpus } from './corpus.ts';

const { bubblewrap } = inject('engines');
const left = readCorpus('left-to-the-sandbox');
const kinds = [...new Set(left.map(({ section }) => section))];

/** A folder, a secret and a port of this machine that no command in a sandbox may change, read or reach. */
class Outside {
  readonly secret = `witness-${randomBytes(12).toString('hex')}`;
  readonly shadow: readonly string[];
  readonly folder: string;
  connections = 0;
  readonly #server: Server;
  readonly #before: string;

  private constructor(folder: string, server: Server, before: string, shadow: readonly string[]) {
    this.folder = folder;
    this.#server = server;
    this.#before = before;
    this.shadow = shadow;
    server.on('connection', (socket) => {
      this.connections++;
      socket.destroy();
    });
  }

  static async open(): Promise<Outside> {
    const folder = await mkdtemp(join(tmpdir(), 'outside-'));
    await mkdir(join(folder, 'kept'));
    await writeFile(join(folder, 'kept/file'), 'as it was');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const shadow = (await readFile('/etc/shadow', 'utf8')).split('\n').filter((line) => line.includes(':'));
    const outside = new Outside(folder, server, await machine(folder), shadow);
    process.env.GEODE_WITNESS = outside.secret;
    return outside;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  async harm(output: string): Promise<string[]> {
    const leaked = [this.secret, ...this.shadow].some((line) => output.includes(line));
    return [
      ...((await machine(this.folder)) === this.#before ? [] : ['changed files of the machine']),
      ...(leaked ? ['read a secret of the machine'] : []),
      ...(this.connections === 0 ? [] : ['reached the network']),
    ];
  }

  async close(): Promise<void> {
    delete process.env.GEODE_WITNESS;
    this.#server.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** The files of this machine that the commands aim at. */
async function machine(folder: string): Promise<string> {
  const files = [join(folder, 'kept/file'), '/etc/passwd', '/etc/group', '/etc/shadow', '/bin/sh'];
  const texts = await Promise.all(files.map((file) => readFile(file, 'base64')));
  return JSON.stringify([texts, await readdir('/')]);
}

describe.skipIf(!bubblewrap.available)(
  `a harmful command that the policy allows${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  () => {
    let harness: Harness;
    let outside: Outside;
    beforeAll(async () => {
      harness = await openHarness(bubblewrapRuntime);
      outside = await Outside.open();
    });
    afterAll(async () => {
      await harness.close();
      await outside.close();
    });

    it('SH-6: harm outside of a sandbox is detected by the test', async () => {
      await rm(join(outside.folder, 'kept/file'));
      await expect(outside.harm(outside.secret)).rejects.toMatchObject({ code: 'ENOENT' });
      await writeFile(join(outside.folder, 'kept/file'), 'as it was');
      expect(await outside.harm(outside.secret)).toEqual(['read a secret of the machine']);
    });

    it.each(kinds)(
      'SH-6: the sandbox stops commands of the kind %s',
      async (kind) => {
        const open = left.filter(({ section }) => section === kind);
        const harmful: string[] = [];
        const work = async () => {
          for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
            harmful.push(...(await harmOf(entry, harness, outside)));
          }
        };
        await Promise.all([work(), work(), work(), work()]);
        expect(harmful).toEqual([]);
      },
      300_000,
    );
  },
);

/** Runs a command in a sandbox of its own, aimed at the port of the witness instead of hosts that do not exist. */
async function harmOf({ command }: Entry, harness: Harness, outside: Outside): Promise<string[]> {
  const aimed = command
    .replaceAll(/https?:\/\/[\w.-]+/g, `http://127.0.0.1:${outside.port}`)
    .replaceAll(/(?:10\.0\.0\.1|1\.1\.1\.1)/g, '127.0.0.1')
    .replaceAll(/\b(?:4444|80)\b/g, String(outside.port));
  await using sandbox = await harness.runtime.open({ limits: { pids: 64, memoryBytes: 192 * 1024 ** 2 } });
  const result = await sandbox.exec({ argv: ['bash', '-c', aimed], timeoutMs: 1_500 }).catch((thrown) => {
    // The command may take the sandbox's own programs away; the end of the sandbox is no harm.
    return { stdout: '', stderr: String(thrown) };
  });
  const harm = await outside.harm(`${result.stdout}${result.stderr}`);
  return harm.map((each) => `${each}: ${command}`);
}
