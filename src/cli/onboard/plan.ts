/** The results of onboarding, and the changes of config and secrets that follow from them. */

import { localUser } from '../../base/identity.ts';
import type { SettingChange } from '../../config/edit.ts';
import { providerChanges, secretOfService } from '../../config/provider-changes.ts';
import type { Config } from '../../config/schema.ts';
import type { ProviderSettings } from '../../seams/provider-setup.ts';
import type { ChannelForm } from './channel-fields.ts';
import { secretName } from './channel-fields.ts';

export const steps = ['provider', 'runtime', 'channels', 'budget'] as const;
export type SetupStep = (typeof steps)[number];

/** The planned settings of a channel, with credentials by the name of their setting. */
export interface ChannelPlan {
  readonly form: ChannelForm;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly credentials: Readonly<Record<string, string>>;
  /** The owner's id on the platform, who then needs no pairing. */
  readonly owner?: string | undefined;
}

export interface SetupPlan {
  readonly provider?: ProviderSettings | undefined;
  readonly runtime?: Config['runtime'] | undefined;
  readonly channels?: readonly ChannelPlan[];
  readonly withoutChannels?: readonly string[];
  /** US dollars a day; null: no limit. */
  readonly budget?: number | null | undefined;
}

export function settingChanges(
  plan: SetupPlan,
  meanings: ReadonlyMap<string, string>,
): readonly SettingChange[] {
  const meaningOf = (setting: string) => meanings.get(setting) ?? '';
  const change = (path: readonly string[], value: unknown): SettingChange => ({
    path,
    value,
    meaning: meaningOf(path.join('.')),
  });
  const { provider, runtime, channels = [], withoutChannels = [], budget } = plan;
  return [
    ...(provider === undefined ? [] : providerChanges(provider, meaningOf)),
    ...(budget === undefined ? [] : [change(['providers', 'daily_budget'], budget)]),
    ...(runtime === undefined ? [] : runtimeChanges(runtime, change)),
    ...channels.flatMap((channel) => channelChanges(channel, change)),
    ...withoutChannels.map((name) => change(['channels', name], undefined)),
  ];
}

type Change = (path: readonly string[], value: unknown) => SettingChange;

function runtimeChanges({ name, allow_fallback_to_native: fallback }: Config['runtime'], change: Change) {
  const native = fallback ? true : undefined;
  return [change(['runtime', 'name'], name), change(['runtime', 'allow_fallback_to_native'], native)];
}

/** Each setting on its own, so that what else the file says of the channel stays. */
function channelChanges({ form, settings, owner }: ChannelPlan, change: Change): readonly SettingChange[] {
  const at = ['channels', form.name];
  return [
    { ...change(at, {}), unlessThere: true },
    ...Object.entries(settings).map(([key, value]) => change([...at, key], value)),
    ...(owner === undefined ? [] : [change([...at, 'allow', owner], localUser)]),
  ];
}

export interface Credential {
  readonly name: string;
  readonly value: string;
}

export function setupCredentials({ provider, channels = [] }: SetupPlan): readonly Credential[] {
  const key =
    provider?.key === undefined ? [] : [{ name: secretOfService(provider.service), value: provider.key }];
  return [...key, ...channels.flatMap(credentialsOfChannel)];
}

function credentialsOfChannel({ form, settings, credentials }: ChannelPlan): readonly Credential[] {
  return Object.entries(credentials).map(([key, value]) => {
    const field = form.fields.find((candidate) => candidate.key === key);
    const given = settings[key];
    const usual = field === undefined ? key : secretName(field);
    return { name: typeof given === 'string' ? given : usual, value };
  });
}
