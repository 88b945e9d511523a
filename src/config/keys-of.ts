import type { Config } from './schema.ts';

/** Every key that the config holds. */
export function keysOf({
  memory,
  qdrant,
  providers,
}: Pick<Config, 'memory' | 'qdrant' | 'providers'>): readonly string[] {
  const services = Object.values(providers.services).map(({ api_key: key }) => key);
  return [memory.api_key, qdrant.api_key, ...services].filter((key) => key !== undefined);
}
