import type { LanguageModel } from 'ai';
import { GeodeError } from '../base/errors.ts';
import { knownPrices, type Price } from '../base/prices.ts';
import type { Model, Models, ProviderKind } from '../seams/model.ts';
import { type Books, SdkModel } from './language-model.ts';

/** One place to get models from. */
interface Service {
  readonly kind: ProviderKind;
  readonly baseUrl?: string | undefined;
  /** A function is called before each request, so a changed secret applies at once. */
  readonly apiKey?: string | (() => string | undefined) | undefined;
}

export interface ModelsOptions {
  readonly services: Readonly<Record<string, Service>>;
  /** `SERVICE/MODEL`. */
  readonly default?: string | undefined;
  readonly cheap?: string | undefined;
  readonly prices: Readonly<Record<string, Price>>;
  readonly accounting: Books;
  readonly timeoutMs: number;
  readonly retries: number;
}

export function openModels(options: ModelsOptions): Models {
  // Turn off the library's warnings about features that a provider lacks.
  Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false);
  const made = new Map<string, Model>();
  return {
    get(name = 'default') {
      const id = idOf(name, options);
      const known = made.get(id) ?? makeModel(id, options);
      made.set(id, known);
      return known;
    },
  };
}

function idOf(name: string, options: ModelsOptions): string {
  if (name !== 'default' && name !== 'cheap') return name;
  const id = name === 'cheap' ? (options.cheap ?? options.default) : options.default;
  if (id !== undefined) return id;
  throw new GeodeError('no_provider', 'No model is set.');
}

function makeModel(id: string, options: ModelsOptions): Model {
  const slash = id.indexOf('/');
  const [name, model] = [id.slice(0, Math.max(0, slash)), id.slice(slash + 1)];
  const service = options.services[name];
  if (slash <= 0 || model === '' || service === undefined) {
    const known = Object.keys(options.services).join(', ') || 'none';
    throw new GeodeError(
      'no_provider',
      `There is no model ${JSON.stringify(id)}. Use SERVICE/MODEL; the services are: ${known}.`,
    );
  }
  checkService(name, service);
  const { prices, accounting, timeoutMs, retries } = options;
  return new SdkModel({
    id,
    load: () => loadModel(name, service, model),
    prices: { ...knownPrices, ...prices },
    accounting,
    timeoutMs,
    retries,
  });
}

function keyOf({ apiKey }: Service): string {
  return (typeof apiKey === 'function' ? apiKey() : apiKey) ?? '';
}

function checkService(name: string, service: Service): void {
  const { kind, baseUrl } = service;
  if (kind === 'openai-compatible' && baseUrl === undefined)
    throw new GeodeError('invalid_config', `providers.services.${name} needs a base_url.`);
  if (kind !== 'openai-compatible' && keyOf(service) === '')
    throw new GeodeError('no_provider', `providers.services.${name} has no key.`, {
      hint: `Set one with geode onboard provider, or store it with geode secrets set and set secret to its name.`,
    });
}

async function loadModel(name: string, service: Service, model: string): Promise<LanguageModel> {
  const { kind, baseUrl = '' } = service;
  const apiKey = keyOf(service);
  const base = baseUrl === '' ? {} : { baseURL: baseUrl };
  if (kind === 'anthropic') {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    return createAnthropic({ ...base, apiKey })(model);
  }
  if (kind === 'openai') {
    const { createOpenAI } = await import('@ai-sdk/openai');
    return createOpenAI({ ...base, apiKey })(model);
  }
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const key = apiKey === '' ? {} : { apiKey };
  return createOpenAICompatible({ name, baseURL: baseUrl, includeUsage: true, ...key })(model);
}
