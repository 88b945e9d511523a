import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scopes } from '../../src/identity/keys.ts';
import { EventLog, eventChapter } from '../../src/ledger/event-log.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { startTestServer } from './server-fixture.ts';

test('SEC-1: only a key with the scope admin receives events of created and revoked keys', async () => {
  using folder = temporaryFolder();
  using ledger = new Ledger(join(folder.path, 'ledger.db'), [eventChapter]);
  await using server = await startTestServer({ parts: { events: new EventLog(ledger) } });
  const { keys } = server.client('operator');
  const { id, secret } = await keys.create({ user: 'alice', scopes: ['memory:read'] });
  await keys.revoke(id);

  const events = '/api/v1/events?after=0&follow=false';
  const { text: all } = await server.caller('alice', ['admin'])(events);
  expect(typesIn(all)).toEqual(['ready', 'key-create', 'key-revoke']);
  expect(all).toContain(id);
  expect(all).not.toContain(secret);

  const others = scopes.filter((scope) => scope !== 'admin');
  expect(typesIn((await server.caller('alice', others)(events)).text)).toEqual(['ready']);
  expect(typesIn((await server.caller('bob', ['admin'])(events)).text)).toEqual(['ready']);
});

function typesIn(stream: string): readonly string[] {
  return [...stream.matchAll(/^event: (.+)$/gm)].map(([, type = '']) => type);
}
