import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect, type PeerCertificate } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { followTls, readTls } from '../../src/api/tls-files.ts';
import { noLog } from '../../src/base/log.ts';
import { loadConfig } from '../../src/config/load.ts';
import { openWithoutSandboxes, startGateway } from '../../src/host/gateway.ts';
import { thisMachine } from '../../src/machine/machine.ts';
import { eventually } from '../contracts/harness.ts';
import { hostWorld } from '../host/world.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url));
const files = { cert: fixture('server.crt'), key: fixture('server.key') };
const ca = readFileSync(files.cert);

interface Answer {
  readonly status: number | undefined;
  readonly cookies: readonly string[];
  readonly body: string;
}

function ask(url: string, method = 'GET', headers: Record<string, string> = {}, body = ''): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  request(url, { method, headers, ca }, async (response) => {
    const { statusCode: status, headers: answered } = response;
    resolve({ status, cookies: answered['set-cookie'] ?? [], body: await text(response) });
  })
    .on('error', reject)
    .end(body);
  return promise;
}

describe('a gateway with a certificate', () => {
  it('OPS-4: serves requests, WebSockets and logins over HTTPS, and nothing without it', async () => {
    await using world = hostWorld({ GEODE_GATEWAY_TLS_CERT: files.cert, GEODE_GATEWAY_TLS_KEY: files.key });
    const { host, gateway } = await world.open();
    expect(gateway.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect((await ask(`${gateway.url}/health`)).status).toBe(200);
    await expect(fetch(`${gateway.url.replace('https', 'http')}/health`)).rejects.toThrow();
    await expect(fetch(`${gateway.url}/health`)).rejects.toThrow();
    const { secret } = host.keys.create({ user: 'ann', scopes: ['runs'] });
    const authorization = `Bearer ${secret}`;
    const socket = new WebSocket(`${gateway.url.replace('https', 'wss')}/api/v1/events`, 'geode.v1', {
      ca,
      headers: { authorization },
    });
    const outcome = await new Promise((resolve) => {
      socket.once('open', () => resolve('open')).once('error', (error) => resolve(error.message));
    });
    socket.terminate();
    expect(outcome).toBe('open');
    const { url: link } = host.parts.logins?.link('local') ?? { url: '' };
    expect(link.startsWith(`${gateway.url}/`)).toBe(true);
    const code = link.slice(link.lastIndexOf('/') + 1);
    const login = await ask(
      `${gateway.url}/login`,
      'POST',
      { 'content-type': 'application/json' },
      JSON.stringify({ code }),
    );
    expect(login.cookies.join()).toContain('Secure');
  });

  it.each([
    [{ GEODE_GATEWAY_TLS_CERT: files.cert }, 'gateway.tls_key is not set'],
    [{ GEODE_GATEWAY_TLS_CERT: files.cert, GEODE_GATEWAY_TLS_KEY: '/none.key' }, 'gateway.tls_key /none.key'],
    [
      { GEODE_GATEWAY_TLS_CERT: files.cert, GEODE_GATEWAY_TLS_KEY: files.cert },
      'no certificate with its key',
    ],
  ])('refuses to start with %o', async (settings, words) => {
    using folder = temporaryFolder();
    const machine = thisMachine({ HOME: folder.path, PATH: process.env.PATH, ...settings });
    const { config } = await loadConfig(machine);
    await using parts = openWithoutSandboxes(config, 'test');
    await expect(startGateway(parts, config, { port: 0 })).rejects.toMatchObject({
      code: 'invalid_config',
      message: expect.stringContaining(words),
    });
  });

  it('OPS-4: uses a renewed certificate without a restart, and keeps the old one while the files are broken', async () => {
    using folder = temporaryFolder();
    const own = { cert: join(folder.path, 'cert.pem'), key: join(folder.path, 'key.pem') };
    copyFileSync(files.cert, own.cert);
    copyFileSync(files.key, own.key);
    const server = createServer(readTls(own), (_, response) => response.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const failures: string[] = [];
    using _following = followTls(own, server, { ...noLog, error: () => failures.push('error') }, 50);
    try {
      expect(await nameAt(port)).toBe('allowed.test');
      rmSync(own.key);
      writeFileSync(own.cert, 'half of a file');
      await eventually(async () => failures.length > 0, 'the error in the log', 60_000);
      expect(await nameAt(port)).toBe('allowed.test');
      const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
      const to = ['-subj', '/CN=renewed.test', '-keyout', own.key, '-out', own.cert];
      execFileSync('openssl', ['req', '-x509', ...fresh, ...to], { stdio: 'ignore' });
      await eventually(
        async () => (await nameAt(port)) === 'renewed.test',
        'the renewed certificate',
        60_000,
      );
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});

function nameAt(port: number): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
    const { subject }: PeerCertificate = socket.getPeerCertificate();
    const { CN: name } = subject;
    resolve(Array.isArray(name) ? name[0] : name);
    socket.destroy();
  });
  socket.once('error', reject);
  return promise;
}
