import { GeodeError } from '../../base/errors.ts';
import type { ProviderKind } from '../../seams/model.ts';

export interface ModelService {
  readonly kind: ProviderKind;
  readonly baseUrl?: string | undefined;
}

interface Upstream {
  readonly kind: ProviderKind;
  readonly upstream: string;
}

const usualUpstreams: Readonly<Partial<Record<ProviderKind, string>>> = {
  anthropic: 'https://api.anthropic.com/v1',
  openai: 'https://api.openai.com/v1',
};

/** The upstream of the model with this name, for a binding. */
export function upstreamOf({ kind, baseUrl }: ModelService): string | undefined {
  return baseUrl ?? usualUpstreams[kind];
}

/** The upstream of a model given as SERVICE/MODEL. */
export function serviceOf(id: string, services: Readonly<Record<string, ModelService>>): Upstream {
  const service = services[id.slice(0, id.indexOf('/'))];
  const upstream = service && upstreamOf(service);
  if (service === undefined || upstream === undefined)
    throw new GeodeError('no_provider', `The service of the model ${id} has no base_url.`);
  return { kind: service.kind, upstream };
}
