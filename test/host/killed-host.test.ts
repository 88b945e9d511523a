import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { isGeodeError } from '../../src/base/errors.ts';
import { clientOfHost } from '../../src/client/host-client.ts';
import { namedHost } from '../../src/machine/named-host.ts';
import { geodeProgram } from '../cli/sandbox-home.ts';
import { eventually } from '../contracts/harness.ts';
import { hostWorld } from './world.ts';

const clients = 20;

describe('a host that is killed', { timeout: 300_000 }, () => {
  it('a host killed with twenty clients: each client gets an error, no acknowledged write is lost, the next host continues', async () => {
    await using world = hostWorld();
    await using hosts = new AsyncDisposableStack();
    const { stateDir } = world.machine;
    const start = async () => {
      const child = spawn(process.execPath, [geodeProgram, 'host', '--json'], { env: world.env });
      hosts.defer(() => ended(child));
      for await (const line of createInterface({ input: child.stdout }))
        return { child, said: JSON.parse(line) };
      throw new Error('the host said nothing');
    };
    const first = await start();
    const api = namedHost(stateDir)?.serves?.api ?? '';
    const acknowledged: string[] = [];
    const store = async (who: number): Promise<unknown> => {
      const client = await clientOfHost(api);
      for (let index = 0; ; index += 1) {
        const id = `${who}/${index}`;
        try {
          await client?.ingest({ id, content: `entry ${id}`, category: 'core', source: 'test' });
        } catch (error) {
          return error;
        }
        acknowledged.push(id);
      }
    };
    const working = Array.from({ length: clients }, (_, who) => store(who));
    await eventually(async () => acknowledged.length > clients * 3, 'some entries', 60_000);
    first.child.kill('SIGKILL');
    for (const error of await Promise.all(working)) {
      expect(isGeodeError(error, 'server_unreachable'), String(error)).toBe(true);
    }
    const second = await start();
    expect(second.said.pid).not.toBe(first.said.pid);
    const client = await clientOfHost(namedHost(stateDir)?.serves?.api ?? '');
    for (const id of acknowledged) expect(await client?.get(id)).toMatchObject({ id });
  });
});

async function ended(child: ChildProcessWithoutNullStreams): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const over = once(child, 'exit');
  child.kill('SIGKILL');
  await over;
}
