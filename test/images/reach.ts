/** How this machine reaches the packages that images are made of: as its own tools do. */
import { existsSync } from 'node:fs';
import { command } from '../engine/command.ts';

const systemCertificates = '/etc/ssl/certs/ca-certificates.crt';

/** Settings of a host, from what this machine is set to. */
export async function mirrorSettings(): Promise<Readonly<Record<string, string>>> {
  const system = existsSync(systemCertificates) ? systemCertificates : undefined;
  const { NODE_EXTRA_CA_CERTS: certificates = system, npm_config_registry: registry } = process.env;
  const debian = await command(
    'apt-get',
    [
      'indextargets',
      '--format',
      '$(REPO_URI)',
      'Codename: bookworm',
      'Component: main',
      'Created-By: Packages',
    ],
    { timeoutMs: 30_000 },
  ).catch(() => '');
  const [mirror = ''] = debian.trim().split('\n');
  const proxies = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];
  return {
    ...(certificates && { GEODE_IMAGES_CA_FILE: certificates }),
    ...(registry && { GEODE_IMAGES_NPM_REGISTRY: registry }),
    ...(mirror !== '' && { GEODE_IMAGES_DEBIAN_MIRROR: mirror }),
    ...Object.fromEntries(proxies.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
  };
}
