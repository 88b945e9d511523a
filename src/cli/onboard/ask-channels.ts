/** The channels of the config's schema: which, with what credentials, and who the owner is there. */
import type { CliContext } from '../command.ts';
import { type Ask, checkKey, keepsAnyway } from './ask.ts';
import { type ChannelField, type ChannelForm, channelForms, secretName } from './channel-fields.ts';
import { tryChannel } from './check-plan.ts';
import type { ChannelPlan, SetupPlan } from './plan.ts';

type Configured = Readonly<Record<string, unknown>> | undefined;

export async function askChannels(
  ask: Ask,
  context: CliContext,
): Promise<Pick<SetupPlan, 'channels' | 'withoutChannels'>> {
  const { config } = await context.loaded();
  const before: Readonly<Record<string, Configured>> = { ...config.channels };
  const forms = channelForms(context.machine);
  const there = forms.map(({ name }) => name).filter((name) => before[name] !== undefined);
  const chosen = await ask.several(
    'Where should people reach the agents, beside the dashboard and the terminal?',
    forms.map(({ name, meaning }) => ({ value: name, label: name, hint: meaning })),
    there,
  );
  const channels: ChannelPlan[] = [];
  for (const form of forms.filter(({ name }) => chosen.includes(name))) {
    const isChanged =
      before[form.name] === undefined || (await ask.confirm(`Change the settings of ${form.name}?`, false));
    if (isChanged) channels.push(await askChannel(form, before[form.name], ask, context));
  }
  return { channels, withoutChannels: there.filter((name) => !chosen.includes(name)) };
}

async function askChannel(
  form: ChannelForm,
  before: Configured,
  ask: Ask,
  context: CliContext,
): Promise<ChannelPlan> {
  for (;;) {
    const settings: Record<string, unknown> = {};
    const credentials: Record<string, string> = {};
    for (const field of form.fields) {
      if (field.asks === 'needed') settings[field.key] = await askSetting(form, field, before, ask);
      if (field.asks !== 'secret') continue;
      const given = await ask.secret(secretQuestion(form, field, before), (text) =>
        text === '' && before === undefined ? 'It needs one' : checkKey(text),
      );
      if (given !== '') credentials[field.key] = given;
    }
    const plan = { form, settings, credentials };
    const works = await ask.trying(
      `Asking ${form.name}`,
      () => tryChannel({ ...plan, settings: { ...before, ...settings } }, context),
      ({ what, found }) => `${what} ${found}`,
    );
    if (works === undefined && !(await keepsAnyway(ask))) continue;
    return { ...plan, owner: await askOwner(form, ask) };
  }
}

function secretQuestion(form: ChannelForm, field: ChannelField, before: Configured): string {
  const name = before?.[field.key] ?? secretName(field);
  const kept = before === undefined ? `kept as the secret ${name}` : `empty: the one that is kept as ${name}`;
  return `${form.name}: ${field.key === 'secret' ? 'its token' : field.meaning} (${kept})`;
}

async function askSetting(form: ChannelForm, field: ChannelField, before: Configured, ask: Ask) {
  const known = before?.[field.key];
  return ask.text(`${form.name}: ${field.meaning}`, {
    initial: typeof known === 'string' ? known : undefined,
    check: (given) => {
      const checked = field.schema.safeParse(given);
      return checked.success ? undefined : (checked.error.issues[0]?.message ?? 'That is not valid');
    },
  });
}

/** Without an owner's id, the first sender gets a pairing code like everybody else. */
async function askOwner(form: ChannelForm, ask: Ask): Promise<string | undefined> {
  if (!form.fields.some(({ asks }) => asks === 'owner')) return undefined;
  const owner = await ask.text(
    `${form.name}: your own id there, which then needs no pairing (empty: pair by code)`,
    { check: (given) => (/^[\w.:@+-]{0,64}$/.test(given) ? undefined : 'An id as the platform shows it') },
  );
  if (owner !== '') return owner;
  ask.show(`Write to ${form.name} once the gateway runs: it answers with a code for geode chat pair CODE.`);
  return undefined;
}
