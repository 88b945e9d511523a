import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { type HostWorld, hostWorld } from './world.ts';

const geode = fileURLToPath(new URL('../../bin/geode.js', import.meta.url));
/** Changes in the folders of the state, after which the restore is killed. */
const moments = [1, 3, 8, 15, 25, 40, 60, 90, 130, 180];
/** On a machine under load, a restore may end before its changes are seen here. */
const mostTries = 4;

/** Killed after so many changes; undefined: it may finish. Returns its exit code, null if it was killed. */
async function restore({ env, machine }: HostWorld, file: string, changes?: number): Promise<number | null> {
  const child = spawn(process.execPath, [geode, 'backup', 'restore', file, '--replace'], {
    env,
    stdio: 'ignore',
  });
  let left = changes ?? Number.POSITIVE_INFINITY;
  const watching = watch(dirname(machine.stateDir), { recursive: true }, () => {
    left -= 1;
    if (left <= 0) child.kill('SIGKILL');
  });
  const [code] = await once(child, 'close');
  watching.close();
  return code;
}

function chatsIn({ machine }: HostWorld): readonly string[] {
  const ledger = new DatabaseSync(join(machine.stateDir, 'ledger.db'), { readOnly: true });
  try {
    expect(ledger.prepare('PRAGMA quick_check').get()).toEqual({ quick_check: 'ok' });
    return ledger
      .prepare('SELECT chat FROM sandboxes')
      .all()
      .map(({ chat }) => String(chat));
  } finally {
    ledger.close();
  }
}

it('OPS-2: a restore that is killed at any moment leaves the old state or the new one, whole', async () => {
  await using first = hostWorld();
  const opened = await first.open();
  const client = createClient(unixTransport(opened.socket.path));
  await client.sandboxes.getOrCreate('restored');
  const { file } = await client.backups.create({ name: 'one' });
  await using second = hostWorld();
  const before = await second.open();
  const there = createClient(unixTransport(before.socket.path)).sandboxes;
  await there.getOrCreate('existing');
  await there.stop('existing');
  await before[Symbol.asyncDispose]();
  let killed = 0;
  for (const changes of moments) {
    let wasKilled = false;
    for (let tries = 0; tries < mostTries && !wasKilled; tries += 1) {
      wasKilled = (await restore(second, file, changes)) === null;
      expect([['existing'], ['restored']]).toContainEqual(chatsIn(second));
    }
    if (wasKilled) killed += 1;
  }
  expect(killed).toBeGreaterThan(moments.length / 2);
  expect(await restore(second, file)).toBe(0);
  expect(chatsIn(second)).toEqual(['restored']);
  const beside = readdirSync(dirname(second.machine.stateDir));
  expect(beside.filter((name) => name.includes('restoring'))).toEqual([]);
});
