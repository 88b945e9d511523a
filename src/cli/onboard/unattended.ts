/** Answers without a person: from a file and from flags, which take precedence. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type ParseError, parse } from 'jsonc-parser';
import { z } from 'zod';
import { GeodeError, reasonOf } from '../../base/errors.ts';
import { providerKinds } from '../../seams/model.ts';
import { runtimeNames } from '../../seams/runtime.ts';
import { type CliContext, type CliOption, text, texts } from '../command.ts';
import { wrongUsage } from '../input/values.ts';
import { type ChannelForm, channelForms } from './channel-fields.ts';
import type { ChannelPlan, SetupPlan } from './plan.ts';

export const answerOptions = {
  answers: {
    type: 'string',
    value: 'FILE',
    description: 'the answers as JSON, comments allowed; flags win over it',
  },
  provider: { type: 'string', value: 'KIND', description: `${providerKinds.join(', ')}` },
  service: {
    type: 'string',
    value: 'NAME',
    description: 'your own name of the provider (default: its kind)',
  },
  'base-url': { type: 'string', value: 'URL', description: 'address of an openai-compatible provider' },
  'key-from': { type: 'string', value: 'VARIABLE', description: 'take its key from this variable' },
  model: { type: 'string', value: 'MODEL', description: 'the usual model, as the provider names it' },
  runtime: { type: 'string', value: 'NAME', description: `auto, ${runtimeNames.join(', ')}` },
  channel: { type: 'string', value: 'NAME', multiple: true, description: 'a channel to set up: telegram, …' },
  'token-from': {
    type: 'string',
    value: 'CHANNEL=VARIABLE',
    multiple: true,
    description: "take the channel's token from this variable; CHANNEL.SETTING for another credential",
  },
  owner: {
    type: 'string',
    value: 'CHANNEL=ID',
    multiple: true,
    description: 'your own id there, which then needs no pairing',
  },
  budget: { type: 'string', value: 'USD', description: 'US dollars for each user and day; none: no limit' },
} as const satisfies Record<string, CliOption>;

const credential = z.union([z.string().min(1), z.strictObject({ from: z.string().min(1) })]);

const answersSchema = z.strictObject({
  provider: z
    .strictObject({
      kind: z.enum(providerKinds),
      service: z.string().optional(),
      base_url: z.url().optional(),
      key: credential.optional(),
      model: z.string().min(1),
    })
    .optional(),
  runtime: z.enum(['auto', ...runtimeNames]).optional(),
  channels: z
    .record(
      z.string(),
      z.strictObject({
        credentials: z.record(z.string(), credential).default({}),
        settings: z.record(z.string(), z.unknown()).default({}),
        owner: z.string().min(1).optional(),
      }),
    )
    .default({}),
  budget: z.number().nonnegative().nullable().optional(),
});
type Answers = z.infer<typeof answersSchema>;

export async function unattendedPlan(context: CliContext): Promise<SetupPlan> {
  const answers = checked(withFlags(await fromFile(context), context));
  const { provider, runtime, channels, budget } = answers;
  const isEmpty = !provider && !runtime && budget === undefined && Object.keys(channels).length === 0;
  if (isEmpty)
    throw wrongUsage(
      'geode onboard --yes asks nothing, and no answer was given: give --provider KIND --model MODEL --key-from VARIABLE, --channel NAME --token-from NAME=VARIABLE, --runtime NAME, --budget USD or --answers FILE',
    );
  const forms = channelForms(context.machine);
  const value = (given: z.infer<typeof credential>) => credentialValue(given, context);
  return {
    ...(provider && {
      provider: {
        service: provider.service ?? provider.kind,
        kind: provider.kind,
        model: provider.model,
        ...(provider.base_url && { baseUrl: provider.base_url }),
        ...(provider.key && { key: value(provider.key) }),
      },
    }),
    ...(runtime && { runtime: { name: runtime, allow_fallback_to_native: false } }),
    ...(budget !== undefined && { budget }),
    channels: Object.entries(channels).map(([name, given]) => channelPlan(formOf(forms, name), given, value)),
  };
}

async function fromFile({ values, cwd }: CliContext): Promise<Record<string, unknown>> {
  const given = text(values, 'answers');
  if (given === undefined) return {};
  const path = resolve(cwd, given);
  const words = await readFile(path, 'utf8').catch((cause) => {
    throw new GeodeError('invalid_input', `--answers ${path} cannot be read: ${reasonOf(cause)}.`, { cause });
  });
  const errors: ParseError[] = [];
  const parsed: unknown = parse(words, errors, { allowTrailingComma: true });
  if (errors.length > 0 || typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw wrongUsage(`--answers ${path} is not a JSON object`);
  return { ...parsed };
}

/** Fields of one answer that were given as flags. */
function withFlags(answers: Record<string, unknown>, { values }: CliContext): Record<string, unknown> {
  const provider = defined({
    kind: text(values, 'provider'),
    service: text(values, 'service'),
    base_url: text(values, 'base-url'),
    key: from(text(values, 'key-from')),
    model: text(values, 'model'),
  });
  const channels = channelFlags(values, recordOf(answers.channels));
  return defined({
    ...answers,
    provider:
      Object.keys(provider).length === 0 ? answers.provider : { ...recordOf(answers.provider), ...provider },
    runtime: text(values, 'runtime') ?? answers.runtime,
    channels: Object.keys(channels).length === 0 ? answers.channels : channels,
    budget: budgetFrom(text(values, 'budget')) ?? (values.budget === 'none' ? null : answers.budget),
  });
}

function channelFlags(
  values: CliContext['values'],
  given: Record<string, unknown>,
): Readonly<Record<string, unknown>> {
  const channels = { ...given };
  const set = (name: string, more: (before: Record<string, unknown>) => object) => {
    const before = recordOf(channels[name]);
    channels[name] = { ...before, ...more(before) };
  };
  for (const name of texts(values, 'channel')) set(name, () => ({}));
  for (const pair of texts(values, 'token-from')) {
    const [where, variable] = pairOf(pair, 'token-from');
    const [name = '', key = 'secret'] = where.split('.');
    set(name, ({ credentials }) => ({ credentials: { ...recordOf(credentials), [key]: from(variable) } }));
  }
  for (const pair of texts(values, 'owner')) {
    const [name, owner] = pairOf(pair, 'owner');
    set(name, () => ({ owner }));
  }
  return channels;
}

function channelPlan(
  form: ChannelForm,
  { credentials, settings, owner }: Answers['channels'][string],
  value: (given: z.infer<typeof credential>) => string,
): ChannelPlan {
  const values = Object.entries(credentials).map(([key, given]) => [key, value(given)] as const);
  return { form, settings, credentials: Object.fromEntries(values), ...(owner && { owner }) };
}

function formOf(forms: readonly ChannelForm[], name: string): ChannelForm {
  const form = forms.find((candidate) => candidate.name === name);
  if (form !== undefined) return form;
  throw wrongUsage(`There is no channel ${name}; there are: ${forms.map((each) => each.name).join(', ')}`);
}

function credentialValue(given: z.infer<typeof credential>, { machine }: CliContext): string {
  if (typeof given === 'string') return given;
  const value = machine.variable(given.from)?.trim();
  if (value) return value;
  throw wrongUsage(`The variable ${given.from} is not set here`);
}

function checked(answers: Record<string, unknown>): Answers {
  const { success, data, error } = answersSchema.safeParse(answers);
  if (success) return data;
  const [issue] = error.issues;
  throw wrongUsage(`The answer ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not valid'}`);
}

function budgetFrom(given: string | undefined): number | undefined {
  if (given === undefined || given === 'none') return undefined;
  if (/^\d+(\.\d+)?$/.test(given)) return Number(given);
  throw wrongUsage(`--budget ${given} is not an amount of US dollars: 5, 0.50, none`);
}

function pairOf(pair: string, option: string): readonly [string, string] {
  const at = pair.indexOf('=');
  if (at > 0 && at < pair.length - 1) return [pair.slice(0, at), pair.slice(at + 1)];
  throw wrongUsage(`--${option} ${pair} is not written CHANNEL=VALUE`);
}

function from(variable: string | undefined) {
  return variable === undefined ? undefined : { from: variable };
}

function defined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
