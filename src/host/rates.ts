import type { ApiOptions } from '../api/environment.ts';
import { GeodeError } from '../base/errors.ts';
import type { Config } from '../config/schema.ts';
import { type Scope, scopes } from '../identity/keys.ts';

type Rates = Pick<ApiOptions, 'rate' | 'failureRate' | 'scopeRates'>;

/** The limits of the config, which counts requests per second; a burst of ten seconds' worth is allowed. */
export function ratesOf({ rate, failure_rate, scope_rates }: Config['gateway']): Rates {
  return {
    rate: perSecond(rate),
    failureRate: perSecond(failure_rate),
    scopeRates: Object.fromEntries(
      Object.entries(scope_rates).map(([scope, value]) => [checkScope(scope), perSecond(value)]),
    ),
  };
}

function checkScope(name: string): Scope {
  const scope = scopes.find((known) => known === name);
  if (scope !== undefined) return scope;
  throw new GeodeError('invalid_config', `gateway.scope_rates: there is no scope ${name}.`, {
    hint: `The scopes are ${scopes.join(', ')}.`,
  });
}

const burstSeconds = 10;

function perSecond(requests: number) {
  return { perMinute: requests * 60, burst: Math.max(1, Math.ceil(requests * burstSeconds)) };
}
