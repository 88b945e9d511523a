import { GeodeError } from '../base/errors.ts';
import { localUser } from '../base/identity.ts';
import { Turns } from '../base/turns.ts';
import { editConfig } from '../config/edit.ts';
import { type LoadedConfig, loadConfig, type Setting } from '../config/load.ts';
import { providerChanges, secretOfService } from '../config/provider-changes.ts';
import type { Config } from '../config/schema.ts';
import { configText, writeConfig } from '../config/write-config.ts';
import type { EgressHost } from '../egress/open-egress.ts';
import type { Machine } from '../machine/machine.ts';
import type { EventSink } from '../seams/events.ts';
import type { ProviderSettings, ProviderSetup } from '../seams/provider-setup.ts';
import { checkProvider } from './check-provider.ts';
import { type ConfiguredModels, missingPrice } from './models.ts';
import { storedSecret } from './stored-secret.ts';

interface SetupParts {
  readonly loaded: LoadedConfig;
  readonly machine: Machine;
  readonly models: ConfiguredModels;
  readonly secrets: Pick<EgressHost['secrets'], 'set'>;
  readonly events: EventSink;
}

export interface OpenProviderSetup extends ProviderSetup {
  /** Every setting as the running host uses it. */
  readonly settings: readonly Setting[];
  readonly config: Config;
  /** Called after each change of the config. */
  onChange: (config: Config) => void;
}

const changed = ['providers.services', 'providers.default'];

export function openProviderSetup({
  loaded,
  machine,
  models,
  secrets,
  events,
}: SetupParts): OpenProviderSetup {
  const turns = new Turns();
  const path = loaded.file.path;
  const setup: OpenProviderSetup & { settings: readonly Setting[]; config: Config } = {
    settings: loaded.settings,
    config: loaded.config,
    onChange() {},
    async test(provider, { signal } = {}) {
      const started = performance.now();
      const answer = await checkProvider(withKnown(provider, setup.config), { ...(signal && { signal }) });
      return { ...answer, durationMs: Math.round(performance.now() - started) };
    },
    connect: (user, provider) =>
      turns.in(async () => {
        checkNotOverridden(setup.settings);
        const { service, key, model } = provider;
        if (provider.kind === 'openai-compatible' && withKnown(provider, setup.config).baseUrl === undefined)
          throw new GeodeError('invalid_input', `${service} needs an address.`, {
            hint: 'Give base_url, such as http://127.0.0.1:11434/v1.',
          });
        if (key !== undefined) secrets.set(localUser, secretOfService(service), key);
        const meanings = new Map(setup.settings.map(({ name, meaning }) => [name, meaning]));
        const changes = providerChanges(provider, (name) => meanings.get(name) ?? '');
        await writeConfig(path, editConfig(await configText(path, machine), changes), machine);
        const written = await loadConfig(machine, path);
        // Other settings of the file apply when the host starts again.
        const { services, default: usual } = written.config.providers;
        setup.config = {
          ...setup.config,
          providers: { ...setup.config.providers, services, default: usual },
        };
        setup.settings = setup.settings.map((setting) =>
          changed.includes(setting.name)
            ? (written.settings.find(({ name }) => name === setting.name) ?? setting)
            : setting,
        );
        models.replace(setup.config.providers);
        setup.onChange(setup.config);
        const id = `${service}/${model}`;
        events.emit(user, { type: 'provider-connect', model: id });
        return { model: id, file: path, warning: missingPrice(setup.config, id) ?? null };
      }),
  };
  return setup;
}

/** Adds the configured address, and the stored key if it belongs to this kind and address. */
function withKnown(provider: ProviderSettings, config: Config): ProviderSettings {
  const { service, kind, baseUrl, key } = provider;
  const known = config.providers.services[service];
  if (known?.kind !== kind) return provider;
  const isSame = baseUrl === undefined || baseUrl === known.base_url;
  const stored = known.secret === undefined ? known.api_key : storedSecret(config, known.secret);
  return { ...provider, baseUrl: baseUrl ?? known.base_url, key: key ?? (isSame ? stored : undefined) };
}

function checkNotOverridden(settings: readonly Setting[]): void {
  for (const { name, source } of settings)
    if (changed.includes(name) && source.from === 'variable')
      throw new GeodeError(
        'setting_overridden',
        `The variable ${source.name} sets ${name}, so the config file cannot change it.`,
      );
}
