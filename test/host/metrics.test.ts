import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { hostWorld } from './world.ts';

const promtool = spawnSync('promtool', ['--version']).status === 0;

async function scrape(url: string, headers: Readonly<Record<string, string>> = {}) {
  const answer = await fetch(`${url}/metrics`, { headers });
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
}

describe('/metrics', () => {
  it('OPS-4: counts requests, commands, runs and sandboxes without names of users or sandboxes', async () => {
    await using world = hostWorld();
    const { host, socket, gateway } = await world.open();
    const client = createClient(unixTransport(socket.path));
    await client.sandboxes.getOrCreate('a-private-name');
    await client.sandboxes.of('a-private-name').exec({ argv: ['true'] });
    await client.search('anything');
    const { secret } = host.keys.create({ user: 'ann', scopes: ['admin'] });
    const { status, type, text } = await scrape(gateway.url, { authorization: `Bearer ${secret}` });
    expect({ status, type }).toEqual({ status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' });
    expect(text).toContain('geode_events_total{type="process-exit"} 1\n');
    expect(text).toContain('geode_sandboxes{state="running",runtime="native",grade="none"} 1\n');
    expect(text).toContain('geode_memory_search_seconds_count 1\n');
    expect(text).toMatch(
      /geode_http_requests_total\{method="POST",route="[^"]*\{?:?chat\}?[^"]*",status="200"\} \d/,
    );
    expect(text).not.toMatch(/a-private-name|ann|anything/);
  });

  it('OPS-4: needs the scope admin, unless the config allows local programs', async () => {
    await using world = hostWorld();
    const { host, gateway } = await world.open();
    expect((await scrape(gateway.url)).status).toBe(401);
    const { secret } = host.keys.create({ user: 'ann', scopes: ['runs'] });
    expect((await scrape(gateway.url, { authorization: `Bearer ${secret}` })).status).toBe(403);
    await using open = hostWorld({ GEODE_GATEWAY_METRICS: 'loopback' });
    const { url } = (await open.open()).gateway;
    expect((await scrape(url)).status).toBe(200);
    // A proxy on this machine sends requests of others.
    expect((await scrape(url, { 'x-forwarded-for': '203.0.113.9' })).status).toBe(401);
  });

  it.skipIf(!promtool)('passes promtool check metrics (skipped without promtool)', async () => {
    await using world = hostWorld({ GEODE_GATEWAY_METRICS: 'loopback' });
    const { gateway } = await world.open();
    await scrape(gateway.url);
    const { text } = await scrape(gateway.url);
    execFileSync('promtool', ['check', 'metrics'], { input: text });
  });

  it('OPS-4: has only documented metrics, and the Grafana dashboard uses no others', () => {
    const guide = readFileSync(new URL('../../docs/operate.md', import.meta.url), 'utf8');
    const dashboard = readFileSync(new URL('../../deploy/grafana.json', import.meta.url), 'utf8');
    const { panels } = z
      .object({ panels: z.array(z.object({ targets: z.array(z.object({ expr: z.string() })) })) })
      .parse(JSON.parse(dashboard));
    const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const used = expressions.flatMap((expr) => expr.match(/(geode|process)_[a-z_]+/g) ?? []);
    expect(used.length).toBeGreaterThan(panels.length - 1);
    for (const name of used) expect(guide).toContain(`\`${name.replace(/_bucket$/, '')}\``);
  });
});
