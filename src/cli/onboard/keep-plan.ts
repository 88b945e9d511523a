/** Stores the answers: credentials as secrets, the rest in the config file. */

import { clientOfHost } from '../../client/host-client.ts';
import { editConfig } from '../../config/edit.ts';
import type { Setting } from '../../config/load.ts';
import { configText, writeConfig } from '../../config/write-config.ts';
import { namedHost } from '../../machine/named-host.ts';
import type { CliContext } from '../command.ts';
import { connectHost } from '../hosting.ts';
import { channelForms } from './channel-fields.ts';
import { type Credential, type SetupPlan, settingChanges, setupCredentials } from './plan.ts';

export interface Kept {
  readonly file: string;
  /** Names of settings that are set now. */
  readonly settings: readonly string[];
  readonly secrets: readonly string[];
  /** The gateway that runs with the settings from before. */
  readonly outdated: number | null;
}

export async function keepPlan(plan: SetupPlan, context: CliContext): Promise<Kept> {
  const { file, settings } = await context.loaded();
  const changes = settingChanges(plan, meaningsOf(settings, context));
  const credentials = setupCredentials(plan);
  const before = await configText(file.path, context.machine);
  await storeSecrets(credentials, context);
  const written = changes.filter((change) => editConfig(before, [change]) !== before);
  await writeConfig(file.path, editConfig(before, changes), context.machine);
  return {
    file: file.path,
    settings: written.map(({ path }) => path.join('.')),
    secrets: credentials.map(({ name }) => name),
    outdated: await gatewayPid(context),
  };
}

function meaningsOf(settings: readonly Setting[], { machine }: CliContext): ReadonlyMap<string, string> {
  const channels = channelForms(machine).map(({ name, meaning }) => [`channels.${name}`, meaning] as const);
  return new Map([...settings.map(({ name, meaning }) => [name, meaning] as const), ...channels]);
}

/** Stores secrets through the running host with any settings; starts a host if none runs. */
async function storeSecrets(credentials: readonly Credential[], context: CliContext): Promise<void> {
  if (credentials.length === 0) return;
  const api = namedHost((await context.loaded()).config.sandbox.state_dir)?.serves?.api;
  const running = api === undefined ? undefined : await clientOfHost(api);
  await using host = running === undefined ? await connectHost(context) : undefined;
  const client = running ?? host?.client;
  for (const { name, value } of credentials)
    await client?.secrets.set(name, value, { signal: context.signal });
}

async function gatewayPid({ loaded }: CliContext): Promise<number | null> {
  const host = namedHost((await loaded()).config.sandbox.state_dir);
  return host?.serves?.as === 'geode gateway' ? host.pid : null;
}
