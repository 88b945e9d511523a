import { GeodeError, isGeodeError, reasonOf } from '../base/errors.ts';

/** The connection ended before the answer did. */
export class CutAnswer extends Error {
  constructor() {
    super('the connection was lost during the answer');
  }
}

/** Messages of `fetch` and of the library's parsers for a lost connection. */
const cutSigns = /^terminated$|other side closed|ECONNRESET|ended without a finish/;

/** Whether a started answer ended too early. */
export function wasCut(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  // Retried requests and requests without an answer do not count as cut answers.
  const isUnanswered = 'statusCode' in thrown && thrown.statusCode === undefined;
  if (thrown.name === 'AI_RetryError' || isUnanswered) return false;
  return thrown instanceof CutAnswer || cutSigns.test(thrown.message) || wasCut(thrown.cause);
}

/** Turns an error of a provider's library into a GeodeError. Keeps the provider's message, shortened. */
export async function providerError(model: string, thrown: unknown): Promise<GeodeError> {
  if (isGeodeError(thrown)) return thrown;
  const { APICallError, RetryError, StreamProviderError } = await import('ai');
  const cause = RetryError.isInstance(thrown) ? thrown.lastError : thrown;
  const reason = reasonOf(cause).slice(0, 500) || 'it gave no reason';
  const about = (rest: string) => `${model}: ${rest}`;
  const status =
    APICallError.isInstance(cause) || StreamProviderError.isInstance(cause) ? cause.statusCode : undefined;
  if (status === 429 || status === 529) {
    return new GeodeError(
      'provider_limited',
      about(`the provider is overloaded or limits the rate: ${reason}`),
      {
        cause: thrown,
      },
    );
  }
  if (status === 401 || status === 403 || status === 402) {
    return new GeodeError(
      'provider_refused',
      about(`the provider refused the key or the account: ${reason}`),
      {
        cause: thrown,
      },
    );
  }
  if (wasCut(cause))
    return new GeodeError('provider_failed', about(`${new CutAnswer().message}.`), { cause: thrown });
  if (status !== undefined) {
    return new GeodeError('provider_failed', about(`the provider answered ${status}: ${reason}`), {
      cause: thrown,
    });
  }
  if (APICallError.isInstance(cause) && cause.responseHeaders === undefined) {
    return new GeodeError('provider_unreachable', about(`the provider cannot be reached: ${reason}`), {
      cause: thrown,
    });
  }
  return new GeodeError('provider_failed', about(reason), { cause: thrown });
}
