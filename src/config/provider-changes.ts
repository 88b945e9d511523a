import type { ProviderSettings } from '../seams/provider-setup.ts';
import type { SettingChange } from './edit.ts';

/** Keeps other settings of the service; without a new key, it keeps the configured one. */
export function providerChanges(
  { service, kind, baseUrl, key, model }: ProviderSettings,
  meaningOf: (setting: string) => string,
): readonly SettingChange[] {
  const at = ['providers', 'services', service];
  const change = (path: readonly string[], value: unknown): SettingChange => ({
    path,
    value,
    meaning: meaningOf(path.join('.')),
  });
  return [
    { ...change(['providers', 'services'], {}), unlessThere: true },
    change([...at, 'kind'], kind),
    ...(baseUrl === undefined ? [] : [change([...at, 'base_url'], baseUrl)]),
    ...(key === undefined
      ? []
      : [change([...at, 'api_key'], undefined), change([...at, 'secret'], secretOfService(service))]),
    change(['providers', 'default'], `${service}/${model}`),
  ];
}

/** Names of secrets have no underscore. */
export function secretOfService(service: string): string {
  return service.replaceAll('_', '-');
}
