import type { Config } from './schema.ts';

/** Every key that the config holds. */
export function keysOf({
  memory,
  qdrant,
  providers,
  telemetry,
}: Pick<Config, 'memory' | 'qdrant' | 'providers' | 'telemetry'>): readonly string[] {
  const services = Object.values(providers.services).map(({ api_key: key }) => key);
  // Short values, such as the name of a tenant, are no keys.
  const headers = Object.values(telemetry.headers).filter((value) => value.length >= 16);
  return [memory.api_key, qdrant.api_key, ...services, ...headers].filter((key) => key !== undefined);
}
