import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import type { DockerOptions } from '../../src/runtimes/docker/options.ts';
import { execContract } from '../contracts/exec.ts';
import { type Harness, openHarness, testOptions } from '../contracts/harness.ts';
import { type Sshd, startSshd } from '../engine/index.ts';
import { startTlsFront, type TlsFront } from '../engine/tls-front.ts';

const { docker, ssh } = inject('engines');
const missing = [docker, ssh].flatMap((fact) => (fact.available ? [] : [fact.reason]));
const reason = missing.length === 0 ? '' : ` (skipped: ${missing.join('; ')})`;
const socket = docker.available ? docker.socket : '';

/** The output of a host with this engine configuration. */
async function probed(how: Partial<DockerOptions>) {
  await using options = await testOptions();
  return await dockerRuntime(options, { ...options.docker, ...how }).probe();
}

const opened = (how: Partial<DockerOptions>) =>
  openHarness((options) => dockerRuntime(options, { ...options.docker, ...how }));

describe.skipIf(missing.length > 0)(`GL-4: docker over ssh${reason}`, () => {
  let server: Sshd | undefined;
  let harness: Harness | undefined;
  const sshd = (): Sshd => {
    if (server === undefined) throw new Error('the ssh server is not open');
    return server;
  };
  const host = () => `ssh://root@127.0.0.1:${sshd().port}${socket}`;
  beforeAll(async () => {
    server = await startSshd();
    harness = await opened({ host: host(), sshConfig: server.config });
  });
  afterAll(async () => {
    await harness?.close();
    await server?.[Symbol.asyncDispose]();
  });
  const open = (): Harness => {
    if (harness === undefined) throw new Error('the harness is not open');
    return harness;
  };

  execContract(open);

  it('refuses an unknown host key by name', async () => {
    expect(await probed({ host: host(), sshConfig: sshd().configOfStranger })).toEqual({
      available: false,
      reason: 'the host key of 127.0.0.1 is not known',
      fix: expect.stringContaining(`ssh -p ${sshd().port} root@127.0.0.1`),
    });
  });

  it('reports a refused login and a missing engine by name', async () => {
    expect(await probed({ host: host(), sshConfig: sshd().configOfRefused })).toMatchObject({
      available: false,
      reason: '127.0.0.1 refused the login of root',
    });
    const nowhere = { host: `ssh://root@127.0.0.1:${sshd().port}/nowhere.sock`, sshConfig: sshd().config };
    expect(await probed(nowhere)).toMatchObject({
      available: false,
      reason: expect.stringContaining('nowhere'),
    });
    const nobody = await probed({ host: 'ssh://root@127.0.0.1:1', sshConfig: sshd().config });
    expect(nobody).toMatchObject({ available: false, reason: expect.stringContaining('refused') });
  });
});

describe.skipIf(missing.length > 0)(`GL-4: docker over TLS${reason}`, () => {
  let started: TlsFront | undefined;
  const front = (): TlsFront => {
    if (started === undefined) throw new Error('the front is not open');
    return started;
  };
  beforeAll(async () => {
    started = await startTlsFront(socket);
  });
  afterAll(() => started?.[Symbol.asyncDispose]());

  it('runs commands and moves files in both directions', async () => {
    const { host, ca, cert, key } = front();
    const harness = await opened({ host, tls: { ca, cert, key } });
    try {
      const sandbox = await harness.open();
      await sandbox.files.write('word', 'over TLS');
      expect(await sandbox.exec({ argv: ['cat', 'word'] })).toMatchObject({
        stdout: 'over TLS',
        exitCode: 0,
      });
      const { stdout } = await sandbox.exec({ argv: ['head', '-c', '3000000', '/dev/zero'] });
      expect(stdout).toHaveLength(3_000_000);
    } finally {
      await harness.close();
    }
  });

  it('reports a wrong authority, a missing certificate and unreadable files by name', async () => {
    const { host, ca, cert, key, otherCa } = front();
    expect(await probed({ host, tls: { ca: otherCa, cert, key } })).toMatchObject({
      available: false,
      reason: expect.stringContaining('cannot be trusted'),
      fix: expect.stringContaining('docker.tls_ca'),
    });
    expect(await probed({ host, tls: { ca } })).toMatchObject({
      available: false,
      reason: expect.stringContaining('refused the client certificate'),
    });
    expect(await probed({ host, tls: { ca: '/nowhere/ca.pem' } })).toMatchObject({
      available: false,
      reason: expect.stringContaining('docker.tls_ca: /nowhere/ca.pem'),
    });
    expect(await probed({ host, tls: { ca, cert } })).toMatchObject({
      available: false,
      reason: expect.stringContaining('must be set together'),
    });
    expect((await probed({ host })).available).toBe(false);
  });
});
