/** Geode's own images, built with the base image, mirrors and proxy of the config and this machine. */

import type { Config } from '../config/schema.ts';
import { type BuiltImagesOptions, openBuiltImages } from '../images/open-images.ts';
import type { Machine } from '../machine/machine.ts';
import type { BuiltImages } from '../seams/images.ts';
import type { Geode } from './geode.ts';

const proxyNames = ['http_proxy', 'https_proxy', 'no_proxy'] as const;

interface Parts extends Pick<BuiltImagesOptions, 'ledger' | 'events' | 'log' | 'version'> {
  readonly app: Pick<Geode, 'runtime' | 'image'>;
  readonly machine: Machine;
}

export function openConfiguredImages({ images }: Config, { app, machine, ...parts }: Parts): BuiltImages {
  return openBuiltImages({
    ...parts,
    // Images are built by an engine, even if another runtime runs the sandboxes.
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

/** The proxy variables of the host. Reads lower-case and upper-case names, because both are in use. */
function proxiesOf({ variable }: Machine): Readonly<Record<string, string>> {
  const found = proxyNames.flatMap((name) => {
    const value = variable(name) ?? variable(name.toUpperCase());
    return value ? [[name, value] as const] : [];
  });
  return Object.fromEntries(found);
}
