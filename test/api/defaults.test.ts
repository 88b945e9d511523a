import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { thisMachine } from '../../src/machine/machine.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { startTestServer } from './server-fixture.ts';

test('CTX-1: a search without a limit returns ten results and the full total', async () => {
  await using server = await startTestServer();
  const { call, client } = server.newcomer();
  const entries = Array.from({ length: 12 }, (_, index) => ({
    id: `n${index}`,
    content: `deploy note ${index}`,
    category: 'project',
    source: 'runbook',
  }));
  await call('/api/v1/context/bulk', { json: { entries } });
  const { total, results } = await client.search('deploy');
  expect({ total, shown: results.length }).toEqual({ total: 12, shown: 10 });
});

test('CTX-1: listens on port 4430 by default', async () => {
  using home = temporaryFolder();
  const { settings } = await loadConfig(thisMachine({ HOME: home.path, PATH: '/usr/bin' }));
  const ports = settings.filter(({ name }) => name.endsWith('.port'));
  expect(ports).toContainEqual(expect.objectContaining({ value: 4430, source: { from: 'default' } }));
});
