import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import type { GeodeClient } from '../../src/client/client.ts';
import { clientOfHost } from '../../src/client/host-client.ts';
import { namedHost } from '../../src/machine/named-host.ts';
import { geodeProgram } from '../cli/sandbox-home.ts';
import { eventually, fixtureText } from '../contracts/harness.ts';
import { imageTag } from '../engine/images.ts';
import { hostWorld } from '../host/world.ts';

const { bubblewrap, docker } = inject('engines');
const packages = fileURLToPath(new URL('../../node_modules', import.meta.url));
const walls = [
  { name: 'bubblewrap', engine: bubblewrap, settings: { GEODE_RUNTIME_NAME: 'bubblewrap' } },
  {
    name: 'docker',
    engine: docker,
    settings: {
      GEODE_RUNTIME_NAME: 'docker',
      GEODE_DOCKER_IMAGE: imageTag('node'),
      ...(docker.available && { GEODE_DOCKER_HOST: `unix://${docker.socket}` }),
    },
  },
];
/** A client with a handshake, which the next host must get, and a client without. */
const versions = ['2025-06-18', 'newest'];

for (const { name, engine, settings } of walls) {
  const reason = engine.available ? '' : ` (skipped: ${engine.reason})`;
  describe.skipIf(!engine.available)(`a host that is killed, seen from a ${name} sandbox${reason}`, () => {
    it('MCP-1, MCP-3: the official client inside continues through the same bridge with the next host', {
      timeout: 300_000,
    }, async () => {
      await using world = hostWorld({ ...settings, GEODE_SECURITY_MOUNT_ROOTS: JSON.stringify([packages]) });
      await using hosts = new AsyncDisposableStack();
      const start = async (): Promise<{ child: ChildProcessWithoutNullStreams; client: GeodeClient }> => {
        const child = spawn(process.execPath, [geodeProgram, 'host', '--json'], { env: world.env });
        hosts.defer(() => ended(child));
        await once(createInterface({ input: child.stdout }), 'line');
        const api = namedHost(world.machine.stateDir)?.serves?.api ?? '';
        const client = await clientOfHost(api);
        if (client === undefined) throw new Error('the host has no socket');
        return { child, client: client.as('alice') };
      };

      const first = await start();
      await first.client.sandboxes.getOrCreate('inside', {
        mounts: [{ source: packages, target: '/node_modules' }],
      });
      const before = first.client.sandboxes.of('inside');
      const session = await before.tools.open();
      await before.files.write('client.mjs', await fixtureText('mcp-client.mjs'));
      const processes = await Promise.all(
        versions.map((version) =>
          before.spawn({ argv: ['node', 'client.mjs', `log-${version}`, version], timeoutMs: null }),
        ),
      );
      const linesIn = async (client: GeodeClient, version: string) => {
        const { files } = client.sandboxes.of('inside');
        const text = await files.readText(`log-${version}`).catch(() => '');
        return text.split('\n').filter(Boolean);
      };
      const stored = (lines: readonly string[]) => lines.filter((line) => line.startsWith('ok '));
      const reach = (client: GeodeClient, version: string, count: number) =>
        eventually(
          async () => {
            const lines = await linesIn(client, version);
            return stored(lines).length >= count ? lines : undefined;
          },
          `${count} entries of ${version}`,
          120_000,
        );
      const early = await Promise.all(versions.map((version) => reach(first.client, version, 3)));
      const died = once(first.child, 'exit');
      first.child.kill('SIGKILL');
      await died;

      const { client } = await start();
      // The audit has every call that was answered, however the host ended.
      const calls = (await client.tools.calls({ limit: 1000 })).map((each) => JSON.parse(each.arguments).id);
      for (const [index, version] of versions.entries())
        for (const line of stored(early[index] ?? [])) expect(calls).toContain(`${version}/${line.slice(3)}`);
      const sandbox = client.sandboxes.of('inside');
      const counts = early.map((lines) => stored(lines).length + 5);
      await Promise.all(versions.map((version, index) => reach(client, version, counts[index] ?? 0)));
      expect(await sandbox.tools.get()).toMatchObject({ id: session.id });
      await sandbox.files.write('stop', '');
      for (const [index, version] of versions.entries()) {
        const lines = await eventually(
          async () => {
            const found = await linesIn(client, version);
            return found.includes('done') ? found : undefined;
          },
          `the end of ${version}`,
          120_000,
        );
        // Acknowledged writes are there; at most the call in progress was lost, and reported.
        for (const line of stored(lines)) await client.get(`${version}/${line.slice(3)}`, { chat: 'inside' });
        const others = lines.filter((line) => !line.startsWith('ok ') && line !== 'done');
        expect(others.length, others.join('\n')).toBeLessThanOrEqual(1);
        for (const line of others) expect(line).toContain('host was lost');
        const id = processes[index]?.id ?? '';
        await eventually(
          async () =>
            (await sandbox.processes()).processes.every(
              (each) => each.id !== id || each.exit?.exitCode === 0,
            ),
          'a clean exit',
          60_000,
        );
      }
    });
  });
}

async function ended(child: ChildProcessWithoutNullStreams): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const over = once(child, 'exit');
  child.kill('SIGKILL');
  await over;
}
