import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { httpUpstream, type Upstream } from '../egress/upstreams.ts';
import { imageTag } from '../engine/images.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';
import { testImages } from '../runs/harness.ts';
import { done } from './call.ts';
import { connectIn } from './in-sandbox.ts';

const { bubblewrap, docker } = inject('engines');
const onDocker = {
  GEODE_RUNTIME_NAME: 'docker',
  GEODE_DOCKER_IMAGE: imageTag('python'),
  GEODE_RUNS_IMAGES: JSON.stringify(testImages),
  ...(docker.available && { GEODE_DOCKER_HOST: `unix://${docker.socket}` }),
};
const walls = [
  { name: 'bubblewrap', engine: bubblewrap, settings: { GEODE_RUNTIME_NAME: 'bubblewrap' } },
  { name: 'docker', engine: docker, settings: onDocker },
];

/** Asks the upstream by the proxy and by the binding; prints what came of each, and how many files it may open. */
const probe = (url: string) => `
import os, resource, urllib.request
for name in ('no_proxy', 'NO_PROXY'): os.environ.pop(name, None)
proxy, binding = os.environ.get('http_proxy'), os.environ.get('TICKETS_URL')
def asked(url, proxies):
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
        return opener.open(url, timeout=40).status
    except urllib.error.HTTPError as error:
        return error.code
print('proxy', asked(${JSON.stringify(url)}, {'http': proxy}) if proxy else 'none')
print('binding', asked(binding, {}) if binding else 'none')
print('files', resource.getrlimit(resource.RLIMIT_NOFILE)[1])
`;

for (const { name, engine, settings } of walls) {
  const skipped = engine.available ? '' : ` (skipped: ${engine.reason})`;
  describe.skipIf(!engine.available)(
    `runs of a tool session on ${name}${skipped}`,
    { timeout: 300_000 },
    () => {
      let world: HostWorld;
      let opened: OpenedHost;
      let upstream: Upstream;
      let alice: GeodeClient;
      beforeAll(async () => {
        upstream = await httpUpstream();
        world = hostWorld({ ...settings, GEODE_RUNS_POOL_CEILING: '0' });
        opened = await world.open();
        alice = createClient(unixTransport(opened.socket.path)).as('alice');
        await alice.secrets.set('tickets', 'the-real-credential');
        await alice.egress.setDefault({ allow: [here()], bindings: [tickets()] });
      }, 300_000);
      afterAll(async () => {
        await world?.[Symbol.asyncDispose]();
        await upstream?.[Symbol.asyncDispose]();
      }, 300_000);
      const here = () => ({ host: '127.0.0.1', ports: [upstream.port], private: true });
      const tickets = () => `tickets=http://127.0.0.1:${upstream.port} add=bearer`;
      const url = () => `http://127.0.0.1:${upstream.port}/by-default`;
      const runFrom = async (chat: string) => {
        const sandbox = await opened.host.sandboxes.of('alice').start(chat);
        await opened.host.tools.open(sandbox, { tools: ['run_code'] });
        await using inside = await connectIn(sandbox);
        const { stdout } = await done(inside.client, 'run_code', { language: 'python', code: probe(url()) });
        return String(stdout).trim().split('\n');
      };

      it('MCP-4: runs of a session have at most the network, bindings and limits of their sandbox, also when the user allows more by default', async () => {
        await alice.sandboxes.getOrCreate('sealed', {
          egress: { mode: 'deny-all' },
          limits: { openFiles: 128 },
        });
        const before = upstream.seen.length;
        expect(await runFrom('sealed')).toEqual(['proxy 403', 'binding none', 'files 128']);
        expect(upstream.seen.slice(before)).toEqual([]);
      });

      it('MCP-4: runs of a session reach hosts that both their sandbox and the default of the user allow', async () => {
        await alice.sandboxes.getOrCreate('open');
        expect(await runFrom('open')).toEqual(['proxy 200', 'binding 200', 'files 4096']);
        expect(upstream.seen.at(-1)?.headers.authorization).toBe('Bearer the-real-credential');
        await alice.sandboxes.of('open').egress.deny([`127.0.0.1:${upstream.port}`]);
        expect((await runFrom('open'))[0]).toBe('proxy 403');
        const own = await alice.runs.run(probe(url()), 'python');
        expect(own.stdout).toContain('proxy 200\nbinding 200\n');
      });
    },
  );
}
