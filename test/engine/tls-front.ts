import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { command } from './command.ts';

export interface TlsFront extends AsyncDisposable {
  readonly host: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** An authority that signed nothing here. */
  readonly otherCa: string;
}

const openssl = (args: readonly string[]) => command('openssl', args, { timeoutMs: 60_000 });

/** An engine's socket behind TLS, for those who have a certificate of its authority. */
export async function startTlsFront(engineSocket: string): Promise<TlsFront> {
  const folder = mkdtempSync(join(tmpdir(), 'geode-test-tls-'));
  const at = (name: string) => join(folder, name);
  for (const name of ['ca', 'other']) {
    const made = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
    ];
    await openssl([...made, '-subj', `/CN=${name}`, '-keyout', at(`${name}.key`), '-out', at(`${name}.pem`)]);
  }
  for (const [name, extension] of [
    ['server', 'subjectAltName=IP:127.0.0.1'],
    ['client', 'extendedKeyUsage=clientAuth'],
  ] as const) {
    writeFileSync(at(`${name}.ext`), extension);
    const asked = [
      'req',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-subj',
      `/CN=${name}`,
    ];
    await openssl([...asked, '-keyout', at(`${name}.key`), '-out', at(`${name}.csr`)]);
    const signed = [
      'x509',
      '-req',
      '-days',
      '2',
      '-CAcreateserial',
      '-CA',
      at('ca.pem'),
      '-CAkey',
      at('ca.key'),
    ];
    await openssl([
      ...signed,
      ...['-extfile', at(`${name}.ext`), '-in', at(`${name}.csr`), '-out', at(`${name}.pem`)],
    ]);
  }
  const open = new Set<Socket>();
  const server = createServer(
    {
      ca: readFileSync(at('ca.pem')),
      cert: readFileSync(at('server.pem')),
      key: readFileSync(at('server.key')),
      requestCert: true,
      rejectUnauthorized: true,
      allowHalfOpen: true,
    },
    (secure) => {
      const engine = connect({ path: engineSocket, allowHalfOpen: true });
      for (const [one, other] of [
        [secure, engine],
        [engine, secure],
      ] as const) {
        open.add(one);
        one.on('error', () => other.destroy()).once('close', () => open.delete(one));
        one.pipe(other);
      }
    },
  );
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    host: `tcp://127.0.0.1:${port}`,
    ca: at('ca.pem'),
    cert: at('client.pem'),
    key: at('client.key'),
    otherCa: at('other.pem'),
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
