/** Tool sessions over HTTP: whose they are, and which tools a key can give. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startTestHost, type TestHost } from './host-fixture.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;
const path = '/api/v1/sandboxes/work/tools';

describe.skipIf(!bubblewrap.available)(`tool sessions over HTTP${skipped}`, { timeout: 120_000 }, () => {
  let host: TestHost;
  beforeAll(async () => {
    host = await startTestHost();
    await host.sandboxes.of('alice').getOrCreate('work');
  }, 240_000);
  afterAll(() => host?.[Symbol.asyncDispose](), 180_000);

  it('opens, gets, lists, replaces and closes a session', async () => {
    const client = host.server.client('alice');
    const { tools } = client.sandboxes.of('work');
    await expect(tools.get()).rejects.toMatchObject({ code: 'tool_session_not_found' });
    const opened = await tools.open();
    expect(opened).toMatchObject({ user: 'alice', chat: 'work', tools: ['list_resources', 'read_resource'] });
    expect(opened.server.args).toEqual(['mcp', opened.place.socket]);
    expect(await tools.get()).toMatchObject({ id: opened.id });
    expect(await client.tools.list()).toMatchObject([{ id: opened.id }]);
    expect(await client.tools.available()).toContain('egress_request');
    const replaced = await tools.open({ replace: true, tools: ['run_code'] });
    expect(replaced).toMatchObject({ tools: ['run_code'] });
    expect(replaced.id).not.toBe(opened.id);
    expect(await host.server.client('bob').tools.list()).toEqual([]);
    expect(await host.server.client('bob').tools.closeAll()).toBe(0);
    expect(await tools.close()).toBe(true);
    expect(await tools.close()).toBe(false);
    expect(await client.tools.calls()).toEqual([]);
  });

  it('a key can give a session only tools of its own scopes', async () => {
    const poor = host.server.caller('alice', ['sandboxes:read', 'sandboxes:write']);
    const ask = (tools?: readonly string[]) => poor(path, { method: 'POST', json: { tools } });
    expect((await ask()).body).toMatchObject({ tools: [] });
    for (const [tool, scope] of [
      ['memory_search', 'memory:read'],
      ['read_resource', 'memory:read'],
      ['memory_store', 'memory:write'],
      ['run_code', 'runs'],
      ['solve', 'runs'],
      ['schedule_add', 'agents'],
    ] as const) {
      const refused = await ask([tool]);
      expect(refused.status, tool).toBe(403);
      expect(refused.text).toContain(scope);
    }
    expect((await ask(['ask_person', 'egress_request'])).status).toBe(200);
    expect((await ask(['no_such_tool'])).status).toBe(400);
    const reader = host.server.caller('alice', ['sandboxes:read']);
    expect((await reader(path, { method: 'DELETE' })).status).toBe(403);
    expect((await reader(path)).body).toMatchObject({ tools: ['ask_person', 'egress_request'] });
  });
});
