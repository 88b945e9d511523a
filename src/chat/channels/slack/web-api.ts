import { z } from 'zod';
import { callPlatform } from '../call-platform.ts';
import { PlatformError } from '../platform-error.ts';

export interface SlackApi {
  /** The answer of a method. `form`: arguments for methods that read no JSON. */
  call(
    method: string,
    given: object | URLSearchParams,
    options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal },
  ): Promise<Readonly<Record<string, unknown>>>;
}

const answerSchema = z.looseObject({ ok: z.boolean(), error: z.string().optional() });
const usualTimeoutMs = 60_000;

/** Refusals that end when the token is fixed, and refusals that end by themselves. */
const ofToken = ['invalid_auth', 'not_authed', 'token_revoked', 'token_expired', 'account_inactive'];
const ofHaste = ['ratelimited', 'rate_limited'];

/** Slack's Web API with one token. It answers 200 even to refused calls. */
export function slackApi(apiUrl: string, token: string): SlackApi {
  return {
    async call(method, given, { timeoutMs = usualTimeoutMs, signal } = {}) {
      const found = await callPlatform({
        platform: 'Slack',
        what: method,
        url: `${apiUrl.replace(/\/$/, '')}/${method}`,
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        ...(given instanceof URLSearchParams ? { body: given } : { json: given }),
        timeoutMs,
        signal,
      });
      const answer = answerSchema.safeParse(found);
      if (!answer.success) throw new Error(`Slack sent an invalid answer to ${method}`);
      if (answer.data.ok) return answer.data;
      const { error = 'no reason given' } = answer.data;
      throw new PlatformError(`Slack refused ${method}: ${error}`, statusOf(error));
    },
  };
}

function statusOf(error: string): number {
  if (ofToken.includes(error)) return 401;
  if (ofHaste.includes(error)) return 429;
  if (error === 'service_unavailable') return 503;
  // For these errors Slack says that part of the call may have been done.
  return ['internal_error', 'fatal_error', 'request_timeout'].includes(error) ? 504 : 400;
}
