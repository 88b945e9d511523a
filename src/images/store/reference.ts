import { GeodeError } from '../../base/errors.ts';

/** The parts of an image name. */
export interface Reference {
  /** `docker.io`, `ghcr.io`, `127.0.0.1:5000`. */
  readonly registry: string;
  readonly repository: string;
  /** A tag, or a digest. */
  readonly version: string;
  /** The complete name, with every default filled in. */
  readonly name: string;
}

const component = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const pattern = new RegExp(
  `^(?:(?<registry>\\w[\\w.-]*(?::\\d{1,5})?|\\[[0-9a-f:]+\\](?::\\d{1,5})?)/)?(?<repository>${component}(?:/${component})*)(?::(?<tag>\\w[\\w.-]{0,127}))?(?:@(?<digest>sha256:[0-9a-f]{64}))?$`,
);

/** Reads a name like Docker: no registry means docker.io, no tag means latest. */
export function parseReference(text: string): Reference {
  const found = text.length <= 512 ? pattern.exec(text)?.groups : undefined;
  const first = found?.registry;
  // `user/image` names no registry: a registry has a dot or a port, or is localhost.
  const isRegistry = first !== undefined && (/[.:[]/.test(first) || first === 'localhost');
  const repository = isRegistry ? found?.repository : [first, found?.repository].filter(Boolean).join('/');
  if (
    found === undefined ||
    repository === undefined ||
    !new RegExp(`^${component}(?:/${component})*$`).test(repository)
  ) {
    throw new GeodeError('invalid_input', `${JSON.stringify(text.slice(0, 200))} is not an image name.`);
  }
  const registry = isRegistry ? first : 'docker.io';
  const whole = registry === 'docker.io' && !repository.includes('/') ? `library/${repository}` : repository;
  const version = found.digest ?? found.tag ?? 'latest';
  const separator = found.digest === undefined ? ':' : '@';
  return { registry, repository: whole, version, name: `${registry}/${whole}${separator}${version}` };
}
