/** `egress.deny` of the config, in sandboxes without a policy of their own. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openBound } from '../../src/agents/programs/bound-sandbox.ts';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';
import { httpUpstream, type Upstream } from './upstreams.ts';

const { bubblewrap } = inject('engines');

/** Asks for each path exactly as it is written, through the proxy of the sandbox. */
const getPaths = `
import http.client, os, sys, urllib.parse
proxy = urllib.parse.urlsplit(os.environ['http_proxy'])
host, *paths = sys.argv[1:]
for path in paths:
    door = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=60)
    door.putrequest('GET', 'http://' + host + path, skip_host=True, skip_accept_encoding=True)
    door.putheader('Host', host)
    door.endheaders()
    print(door.getresponse().status, path)
`;
const spellings = ['/admin/x', '//admin/x', '/%61dmin/x', '/a/../admin/x', '/admin;a/x', '/admin%2fx'];

describe.skipIf(!bubblewrap.available)(
  `rules that the operator denies${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  () => {
    let world: HostWorld;
    let opened: OpenedHost;
    let operator: GeodeClient;
    let server: Upstream;
    let own: string;
    beforeAll(async () => {
      server = await httpUpstream();
      own = `127.0.0.1:${server.port}`;
      world = hostWorld({
        GEODE_RUNTIME_NAME: 'bubblewrap',
        GEODE_EGRESS_DENY: JSON.stringify([`http://${own}/admin/*`, 'denied.test']),
      });
      opened = await world.open();
      operator = createClient(unixTransport(opened.socket.path)).as('ann');
    });
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
      await server?.[Symbol.asyncDispose]();
    });

    const makeFor: Readonly<Record<string, (chat: string) => Promise<unknown>>> = {
      'a new sandbox of an agent': (chat) =>
        openBound(opened.host.sandboxes.of('ann'), chat, {
          binding: { name: 'anthropic', upstream: `http://${own}` },
          signal: undefined,
        }),
      'a sandbox that got its model later': async (chat) => {
        await operator.sandboxes.getOrCreate(chat);
        await openBound(opened.host.sandboxes.of('ann'), chat, {
          binding: { name: 'anthropic', upstream: `http://${own}` },
          signal: undefined,
        });
      },
      'a sandbox without a policy': (chat) => operator.sandboxes.getOrCreate(chat),
    };

    it.for(Object.entries(makeFor))(
      'NET-1: a rule of the operator stays in %s when hosts are allowed later',
      async ([name, make]) => {
        const chat = name.replaceAll(' ', '-');
        await operator.secrets.set('anthropic', 'a-secret-key');
        await make(chat);
        await operator.sandboxes.of(chat).egress.allow([own, '*']);
        const { policy } = await operator.sandboxes.of(chat).egress.get();
        expect(policy.mode).toBe('allow-all');
        expect(policy.deny.map(({ host, paths }) => [host, paths])).toEqual([
          ['127.0.0.1', ['/admin/*']],
          ['denied.test', undefined],
        ]);
        const before = server.seen.length;
        const { stdout } = await operator.sandboxes.of(chat).exec({
          argv: ['python3', '-c', getPaths, own, '/ok', ...spellings],
          timeoutMs: 60_000,
        });
        expect(stdout.trim().split('\n')).toEqual(['200 /ok', ...spellings.map((path) => `403 ${path}`)]);
        expect(server.seen.slice(before).map(({ url }) => url)).toEqual(['/ok']);
      },
    );

    it.for([
      ['/x?admin=1', 'has a ? or #'],
      ['/users/*/secret', 'has a * before its end'],
      ['/caf\u00e9', 'is not valid in a request'],
    ])('NET-1: a rule with the path %s is refused: it would never apply', async ([path = '', reason]) => {
      const chat = `refused-${path.length}`;
      await operator.sandboxes.getOrCreate(chat);
      const { egress } = operator.sandboxes.of(chat);
      const rule = { host: 'a.test', paths: [path] };
      for (const change of [
        () => egress.deny([`http://a.test${path}`]),
        () => egress.deny([rule]),
        () => egress.allow([rule]),
        () => egress.set({ bindings: [{ name: 'anthropic', paths: [path] }] }),
        () => operator.sandboxes.getOrCreate('other', { egress: { mode: 'allow-all', deny: [rule] } }),
      ])
        await expect(change()).rejects.toMatchObject({
          code: 'invalid_input',
          message: expect.stringContaining(reason ?? ''),
        });
      expect((await egress.get()).policy.allow).toEqual([]);
    });

    it('NET-1: a host stays denied until the operator allows it by the same rule', async () => {
      await operator.sandboxes.getOrCreate('lifted');
      await operator.sandboxes.of('lifted').egress.allow(['denied.test']);
      const { policy } = await operator.sandboxes.of('lifted').egress.get();
      expect([policy.deny.map(({ host }) => host), policy.allow.map(({ host }) => host)]).toEqual([
        ['127.0.0.1'],
        ['denied.test'],
      ]);
    });
  },
);
