/** The conversation: each step asks, tries the answer on the real thing, and asks again when it does not work. */
import { z } from 'zod';
import { secretOfService } from '../../config/provider-changes.ts';
import type { Config } from '../../config/schema.ts';
import type { ProbedRuntime } from '../../host/geode.ts';
import { providerKinds } from '../../seams/model.ts';
import type { ProviderSettings } from '../../seams/provider-setup.ts';
import type { CliContext } from '../command.ts';
import { type Ask, type Choice, checkKey, keepsAnyway } from './ask.ts';
import { askChannels } from './ask-channels.ts';
import { tryProvider } from './check-plan.ts';
import type { SetupPlan, SetupStep } from './plan.ts';

type RuntimeName = Config['runtime']['name'];

export async function askPlan(
  steps: readonly SetupStep[],
  ask: Ask,
  context: CliContext,
): Promise<SetupPlan> {
  let plan: SetupPlan = {};
  if (steps.includes('provider')) plan = { ...plan, provider: await askProvider(ask, context) };
  if (steps.includes('runtime')) plan = { ...plan, runtime: await askRuntime(ask, context) };
  if (steps.includes('channels')) plan = { ...plan, ...(await askChannels(ask, context)) };
  if (steps.includes('budget')) plan = { ...plan, budget: await askBudget(ask, context) };
  return plan;
}

const kinds = {
  anthropic: { label: 'Anthropic', model: 'claude-sonnet-4-5' },
  openai: { label: 'OpenAI', model: 'gpt-5' },
  'openai-compatible': { label: 'Another with the API of OpenAI: Ollama, vLLM, OpenRouter, …', model: '' },
} as const;

async function askProvider(ask: Ask, context: CliContext): Promise<ProviderSettings | undefined> {
  const { config } = await context.loaded();
  const choices = providerKinds.map((value) => ({ value, label: kinds[value].label }));
  const kind = await ask.choose('Which provider of models?', [
    ...choices,
    { value: 'none', label: 'None for now', hint: 'sandboxes and runs need none' },
  ]);
  if (kind === 'none') return undefined;
  const isOwn = kind === 'openai-compatible';
  const service = isOwn ? await ask.text('A name for it', { initial: 'local', check: checkName }) : kind;
  const known = config.providers.services[service];
  const baseUrl = isOwn
    ? await ask.text('Its address', {
        initial: known?.base_url,
        placeholder: 'http://127.0.0.1:11434/v1',
        check: checkUrl,
      })
    : known?.base_url;
  let usual: string = config.providers.default?.startsWith(`${service}/`)
    ? config.providers.default.slice(service.length + 1)
    : kinds[kind].model;
  for (;;) {
    const model = await ask.text('The usual model', { initial: usual, check: checkGiven });
    usual = model;
    const isKept = known?.secret !== undefined;
    const key = await ask.secret(keyQuestion(service, isOwn, isKept), (given) =>
      given === '' && !isOwn && !isKept ? 'It needs a key' : checkKey(given),
    );
    const trial = { service, kind, baseUrl, model, key: key === '' ? undefined : key };
    const works = await ask.trying(
      `Asking ${service}/${model}`,
      () => tryProvider(trial, context),
      ({ what, found }) => `${what} ${found}`,
    );
    if (works !== undefined || (await keepsAnyway(ask))) return trial;
  }
}

function keyQuestion(service: string, isOptional: boolean, isKept: boolean): string {
  const where = `kept as the secret ${secretOfService(service)}`;
  if (isKept) return `Its key (empty: the one that is ${where})`;
  return isOptional ? `Its key, if it needs one (${where})` : `Its key (${where})`;
}

async function askRuntime(
  ask: Ask,
  { geode: open, loaded }: CliContext,
): Promise<Config['runtime'] | undefined> {
  const { config } = await loaded();
  const geode = await open();
  for (;;) {
    const probed = await ask.trying(
      'Looking for runtimes',
      () => geode.probe(),
      (all) => `Runtimes:\n${all.map(probedLine).join('\n')}`,
    );
    const works = (probed ?? []).filter(({ found }) => found.available).map(({ runtime }) => runtime.name);
    const isSafe = works.some((name) => name !== 'native');
    const choices: readonly Choice<RuntimeName | 'again'>[] = [
      { value: 'auto', label: 'auto', hint: 'the strongest that works; never native' },
      ...works.map((value) => ({ value, label: value })),
      { value: 'again', label: 'Look again', hint: 'after you have started or installed one' },
    ];
    const name = await ask.choose('Which runtime should sandboxes use?', choices, config.runtime.name);
    if (name === 'again') continue;
    if (name === 'auto' && !isSafe) {
      ask.show('No runtime that isolates works here yet; see the fixes above.');
      continue;
    }
    if (name === 'native' && !(await ask.confirm('native does not isolate at all. Use it anyway?', false)))
      continue;
    return { name, allow_fallback_to_native: config.runtime.allow_fallback_to_native };
  }
}

function probedLine({ runtime, found }: ProbedRuntime): string {
  if (found.available) return `  ${runtime.name}: ${found.version}, grade ${found.grade}`;
  return `  ${runtime.name}: ${found.reason}. ${found.fix}`;
}

async function askBudget(ask: Ask, { loaded }: CliContext): Promise<number | null> {
  const { daily_budget: now } = (await loaded()).config.providers;
  const given = await ask.text('US dollars that each user may spend on models in a day (empty: no limit)', {
    initial: now === null ? undefined : String(now),
    check: (text) => (/^(\d+(\.\d+)?)?$/.test(text) ? undefined : 'An amount, for example 5 or 0.50'),
  });
  return given === '' ? null : Number(given);
}

function checkName(given: string): string | undefined {
  return /^[a-z0-9][a-z0-9_-]*$/.test(given) ? undefined : 'Lower-case letters, digits, - and _';
}

function checkUrl(given: string): string | undefined {
  return z.url({ protocol: /^https?$/ }).safeParse(given).success
    ? undefined
    : 'An address: http://… or https://…';
}

function checkGiven(given: string): string | undefined {
  return given === '' ? 'It needs a name' : undefined;
}
