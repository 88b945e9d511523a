import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { WebSocket } from 'ws';
import { eventually } from '../contracts/harness.ts';
import { echoServer } from '../fixtures/echo-server.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;
const port = 8000;
const domain = 'boxes.example.com';

describe.skipIf(!bubblewrap.available)(
  `host names of sandboxes for E2B's SDK${skipped}`,
  { timeout: 180_000 },
  () => {
    let world: HostWorld;
    let opened: OpenedHost;
    let options: { apiKey: string; apiUrl: string; sandboxUrl: string };
    beforeAll(async () => {
      world = hostWorld({ GEODE_RUNTIME_NAME: 'bubblewrap', GEODE_E2B_DOMAIN: domain });
      opened = await world.open();
      const url = `${opened.gateway.url}/e2b`;
      options = { apiKey: opened.gateway.secret ?? '', apiUrl: url, sandboxUrl: url };
    }, 120_000);
    afterAll(() => world?.[Symbol.asyncDispose](), 120_000);

    /** The name leads to the gateway, as a record \`*.DOMAIN\` would. */
    const get = async (host: string, headers: Record<string, string> = {}) => {
      const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
      request(`${opened.gateway.url}/a/b?x=1`, { headers: { host, ...headers } }, async (answer) =>
        resolve({ status: answer.statusCode ?? 0, body: await text(answer) }),
      )
        .on('error', reject)
        .end();
      return promise;
    };
    const serve = async (sandbox: Sandbox, headers: Record<string, string> = {}) => {
      const host = sandbox.getHost(port);
      await sandbox.files.write('serve.py', echoServer(port));
      await sandbox.commands.run('python3 serve.py', { background: true, timeoutMs: 0 });
      await eventually(async () => (await get(host, headers)).status === 200, 'the server', 120_000);
      return host;
    };

    it('API-2: getHost names a server in the sandbox, over HTTP and WebSocket, until the sandbox ends', async () => {
      const sandbox = await Sandbox.create(options);
      const host = sandbox.getHost(port);
      expect(host).toBe(`${port}-${sandbox.sandboxId}.${domain}`);
      expect(await get(host)).toEqual({
        status: 502,
        body: JSON.stringify({
          sandboxId: sandbox.sandboxId,
          message: 'The sandbox is running but port is not open',
          port,
          code: 502,
        }),
      });
      expect((await get(host, { 'user-agent': 'Mozilla/5.0' })).body).toContain(
        '<title>Closed Port Error</title>',
      );
      await serve(sandbox);
      const seen = JSON.parse((await get(host.toUpperCase(), { cookie: 'own=1' })).body);
      expect(seen).toMatchObject({ path: '/a/b?x=1', headers: { cookie: 'own=1' } });
      const said = await new Promise<string>((resolve, reject) => {
        const socket = new WebSocket(opened.gateway.url.replace('http', 'ws'), { headers: { host } });
        socket.on('open', () => socket.send('over the link')).on('error', reject);
        socket.on('message', (data) => {
          resolve(String(data));
          socket.terminate();
        });
      });
      expect(said).toBe('over the link');
      await sandbox.kill();
      expect(JSON.parse((await get(host)).body)).toMatchObject({ message: 'Sandbox not found', code: 0 });
    });

    it('API-2: a private sandbox answers only with its token, which its server does not see', async () => {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: E2B's own placeholder.
      const network = { allowPublicTraffic: false, maskRequestHost: 'shown.example:${PORT}' };
      const sandbox = await Sandbox.create({ ...options, network });
      const own = { 'e2b-traffic-access-token': sandbox.trafficAccessToken ?? '' };
      const host = await serve(sandbox, own);
      expect((await get(host)).status).toBe(403);
      const other = await Sandbox.create(options);
      const theirs = { 'e2b-traffic-access-token': other.trafficAccessToken ?? '' };
      expect((await get(host, theirs)).status).toBe(403);
      const { headers } = JSON.parse((await get(host, own)).body);
      expect(headers).toMatchObject({ host: `shown.example:${port}` });
      expect(Object.keys(headers)).not.toContain('e2b-traffic-access-token');
      for (const each of [sandbox, other]) await each.kill();
    });

    it('API-2: a request resumes a paused sandbox only if it was created so', async () => {
      const waking = await Sandbox.create({
        ...options,
        lifecycle: { onTimeout: 'pause', autoResume: true },
      });
      const sleeping = await Sandbox.create(options);
      for (const [sandbox, status] of [
        [waking, 200],
        [sleeping, 502],
      ] as const) {
        const host = await serve(sandbox);
        await sandbox.pause();
        expect((await get(host)).status).toBe(status);
        await sandbox.kill();
      }
    });

    it('SEC-2: no other name below the domain leads anywhere, and none opens the API', async () => {
      for (const host of [domain, `api.${domain}`, `8000-.${domain}`, `70000-i1.${domain}`, `x${domain}`])
        expect(await get(host), host).toMatchObject({
          status: 403,
          body: expect.stringContaining('host_refused'),
        });
      expect((await get(`8000-nothere.${domain}`)).status).toBe(502);
    });
  },
);
