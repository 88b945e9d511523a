/** Geode's own images, as the config and this machine say how to reach what they are made of. */
import type { App } from '../app.ts';
import type { Host as Machine } from '../config/host.ts';
import type { Config } from '../config/schema.ts';
import type { BuiltImages } from '../core/images.ts';
import { type BuiltImagesOptions, openBuiltImages } from '../images/open-images.ts';

const proxyNames = ['http_proxy', 'https_proxy', 'no_proxy'] as const;

interface Parts extends Pick<BuiltImagesOptions, 'ledger' | 'events' | 'log' | 'version'> {
  readonly app: Pick<App, 'runtime' | 'image'>;
  readonly machine: Machine;
}

export function openConfiguredImages({ images }: Config, { app, machine, ...parts }: Parts): BuiltImages {
  return openBuiltImages({
    ...parts,
    // Whatever runs sandboxes here, images are built by an engine.
    runtime: () => app.runtime('docker'),
    pull: (name, cancel) => app.image(name, { runtime: 'docker', ...cancel }),
    from: images.from,
    network: images.network,
    timeoutMs: images.build_timeout * 1000,
    mirrors: {
      debianMirror: images.debian_mirror,
      npmRegistry: images.npm_registry,
      caFile: images.ca_file,
      proxies: proxiesOf(machine),
    },
  });
}

/** Written either way; builders know both. */
function proxiesOf({ variable }: Machine): Readonly<Record<string, string>> {
  const found = proxyNames.flatMap((name) => {
    const value = variable(name) ?? variable(name.toUpperCase());
    return value ? [[name, value] as const] : [];
  });
  return Object.fromEntries(found);
}
