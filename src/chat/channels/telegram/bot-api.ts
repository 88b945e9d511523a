import { z } from 'zod';
import { PlatformError } from '../platform-error.ts';

const answerSchema = z.object({
  ok: z.boolean(),
  result: z.unknown().optional(),
  description: z.string().optional(),
  error_code: z.number().optional(),
  parameters: z.object({ retry_after: z.number().optional() }).optional(),
});

export interface BotApi {
  call(
    method: string,
    payload: object,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<unknown>;
}

/** The calls that the transport makes itself: who the bot is, what came in, and that a button was seen. */
export function botApi(apiUrl: string, token: string): BotApi {
  return {
    async call(method, payload, { timeoutMs, signal }) {
      const timeout = AbortSignal.timeout(timeoutMs);
      const response = await fetch(`${apiUrl}/bot${token}/${method}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(payload),
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      });
      const answer = answerSchema.safeParse(await response.json().catch(() => undefined));
      if (!answer.success)
        throw new PlatformError(`Telegram answered ${method} with what makes no sense`, response.status);
      const { ok, result, description = 'no reason given', error_code: code, parameters } = answer.data;
      if (ok) return result;
      const wait = parameters?.retry_after;
      const status = code ?? response.status;
      throw new PlatformError(
        `Telegram refused ${method}: ${description} (${status})`,
        status,
        wait === undefined ? undefined : wait * 1000,
      );
    },
  };
}
