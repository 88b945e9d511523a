import { z } from 'zod';
import { parsedJson } from '../../../base/json.ts';
import { PlatformError } from '../platform-error.ts';

const answerSchema = z.object({
  ok: z.boolean(),
  result: z.unknown().optional(),
  description: z.string().optional(),
  error_code: z.number().optional(),
  parameters: z
    .object({ retry_after: z.number().optional(), migrate_to_chat_id: z.number().optional() })
    .optional(),
});

/** The group became a supergroup, which has a new id. */
export class MovedError extends PlatformError {
  readonly to: string;

  constructor(message: string, to: string) {
    super(message, 400);
    this.to = to;
  }
}

export interface BotApi {
  call(
    method: string,
    payload: object | FormData,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<unknown>;
}

/** Telegram's Bot API with one token. */
export function botApi(apiUrl: string, token: string): BotApi {
  return {
    async call(method, payload, { timeoutMs, signal }) {
      const timeout = AbortSignal.timeout(timeoutMs);
      const response = await fetch(`${apiUrl}/bot${token}/${method}`, {
        method: 'POST',
        ...(payload instanceof FormData
          ? { body: payload }
          : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(payload) }),
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      });
      const answer = answerSchema.safeParse(parsedJson(await response.text()));
      if (!answer.success) {
        const message = `Telegram sent an invalid answer to ${method} (${response.status})`;
        // Refused by a proxy in front of Telegram. With a success status the call may have been done.
        throw response.ok ? new Error(message) : new PlatformError(message, response.status);
      }
      const { ok, result, description = 'no reason given', error_code: code, parameters } = answer.data;
      if (ok) return result;
      const { retry_after: wait, migrate_to_chat_id: to } = parameters ?? {};
      const status = code ?? response.status;
      const message = `Telegram refused ${method}: ${description} (${status})`;
      if (to !== undefined) throw new MovedError(message, String(to));
      throw new PlatformError(message, status, wait === undefined ? undefined : wait * 1000);
    },
  };
}
