/** Tests the answers for real: one call to the model, one to each platform, one probe of the runtime. */
import { GeodeError } from '../../base/errors.ts';
import { secretOfService } from '../../config/provider-changes.ts';
import type { ProviderSettings } from '../../seams/provider-setup.ts';
import type { CliContext } from '../command.ts';
import { type ChannelField, secretName } from './channel-fields.ts';
import type { ChannelPlan, SetupPlan } from './plan.ts';

export interface CheckedPlan {
  readonly what: string;
  readonly found: string;
}

/** Throws at the first that does not work. */
export async function checkPlan(plan: SetupPlan, context: CliContext): Promise<readonly CheckedPlan[]> {
  const checked: CheckedPlan[] = [];
  if (plan.runtime !== undefined) checked.push(await tryRuntime(plan.runtime.name, context));
  if (plan.provider !== undefined) checked.push(await tryProvider(plan.provider, context));
  for (const channel of plan.channels ?? []) checked.push(await tryChannel(channel, context));
  return checked;
}

export async function tryProvider(trial: ProviderSettings, context: CliContext): Promise<CheckedPlan> {
  const { config } = await context.loaded();
  const { checkProvider } = await import('../../host/check-provider.ts');
  const { storedSecret } = await import('../../host/stored-secret.ts');
  const key = trial.key ?? storedSecret(config, secretOfService(trial.service));
  const { text } = await checkProvider({ ...trial, ...(key && { key }) }, { signal: context.signal });
  return { what: `${trial.service}/${trial.model}`, found: `answers: ${text.slice(0, 60)}` };
}

export async function tryChannel(plan: ChannelPlan, context: CliContext): Promise<CheckedPlan> {
  const { name } = plan.form;
  const { config } = await context.loaded();
  const known: Readonly<Record<string, unknown>> = config.channels;
  const before = known[name];
  const given = { ...(typeof before === 'object' && before), ...plan.settings };
  const settings = plan.form.schema.safeParse(given);
  if (!settings.success) {
    const [issue] = settings.error.issues;
    const at = ['channels', name, ...(issue?.path ?? [])].join('.');
    throw new GeodeError('invalid_input', `${at}: ${issue?.message ?? 'is not valid'}`);
  }
  const values: Record<string, string> = {};
  for (const field of plan.form.fields.filter(({ asks }) => asks === 'secret')) {
    const value = plan.credentials[field.key] ?? (await keptValue(given, field, context));
    if (value === undefined) {
      throw new GeodeError('secret_missing', `${name} needs a credential: ${field.meaning}.`, {
        hint: `Give it with --token-from ${name}.${field.key}=VARIABLE, or in --answers.`,
      });
    }
    values[field.key] = value;
  }
  const { checkChannel } = await import('../../host/check-channel.ts');
  return { what: name, found: `is ${await checkChannel(name, settings.data, values)}` };
}

async function keptValue(
  settings: Readonly<Record<string, unknown>>,
  field: ChannelField,
  { loaded }: CliContext,
) {
  const given = settings[field.key];
  const { storedSecret } = await import('../../host/stored-secret.ts');
  return storedSecret((await loaded()).config, typeof given === 'string' ? given : secretName(field));
}

async function tryRuntime(name: string, context: CliContext): Promise<CheckedPlan> {
  const geode = await context.geode();
  const probed = await geode.probe();
  if (name === 'auto') {
    const { name: chosen } = await geode.runtime();
    return { what: 'runtime', found: `auto, which is ${chosen} here` };
  }
  const found = probed.find(({ runtime }) => runtime.name === name)?.found;
  if (found?.available) return { what: 'runtime', found: `${name} ${found.version}, grade ${found.grade}` };
  throw new GeodeError('runtime_unavailable', `${name} does not work here: ${found?.reason ?? 'unknown'}.`, {
    ...(found && { hint: found.fix }),
  });
}
