import { readFileSync } from 'node:fs';
import type { Agent } from 'node:http';
import type Docker from 'dockerode';
import { GeodeError, reasonOf } from '../../base/errors.ts';
import type { RuntimeOptions } from '../options.ts';
import type { DockerOptions } from './options.ts';
import { sshAgent } from './ssh.ts';

/** Settings to connect to an engine, besides the address. */
export type EngineReach = Pick<DockerOptions, 'tls' | 'sshConfig'> & Pick<RuntimeOptions, 'runDir'>;

/** How the engine's client connects to `docker.host`. */
export function addressOf(
  host: string,
  { tls, sshConfig, runDir }: EngineReach,
): Docker.DockerOptions & { readonly agent?: Agent } {
  const url = parseHost(host);
  if (tls !== undefined && url.protocol !== 'tcp:' && url.protocol !== 'https:')
    throw wrong(`docker.tls_ca, tls_cert and tls_key need tcp://, but docker.host is ${host}`);
  if (url.protocol === 'unix:') return { socketPath: url.pathname };
  if (url.protocol === 'ssh:') {
    const agent = sshAgent({ url, configFile: sshConfig, runDir });
    return { protocol: 'http', host: 'docker', port: 80, agent };
  }
  // Only URLs write an IPv6 address in brackets.
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (tls === undefined && url.protocol !== 'https:')
    return { protocol: 'http', host: hostname, port: url.port || 2375 };
  return { protocol: 'https', host: hostname, port: url.port || 2376, ...certificates(tls ?? {}) };
}

function parseHost(host: string): URL {
  const url = URL.canParse(host) ? new URL(host) : undefined;
  if (url !== undefined && ['unix:', 'tcp:', 'http:', 'https:', 'ssh:'].includes(url.protocol)) return url;
  throw new GeodeError(
    'invalid_config',
    `docker.host is ${JSON.stringify(host)}, which is not an engine address.`,
    { hint: 'Use unix:///var/run/docker.sock, tcp://host:port or ssh://user@host.' },
  );
}

function certificates({ ca, cert, key }: NonNullable<DockerOptions['tls']>) {
  if ((cert === undefined) !== (key === undefined))
    throw wrong('docker.tls_cert and docker.tls_key must be set together');
  return {
    ...(ca === undefined ? {} : { ca: contentOf('docker.tls_ca', ca) }),
    ...(cert === undefined ? {} : { cert: contentOf('docker.tls_cert', cert) }),
    ...(key === undefined ? {} : { key: contentOf('docker.tls_key', key) }),
  };
}

function contentOf(setting: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw wrong(`${setting}: ${path} cannot be read: ${reasonOf(cause)}`);
  }
}

function wrong(reason: string): GeodeError {
  return new GeodeError('invalid_config', `${reason}.`);
}
