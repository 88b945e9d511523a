import { z } from 'zod';
import { parsedJson } from '../../base/json.ts';
import { PlatformError } from './platform-error.ts';

export interface PlatformCall {
  readonly platform: string;
  /** Name of the call for errors, because an address may contain a token. */
  readonly what: string;
  readonly url: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT';
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly json?: object | undefined;
  readonly body?: FormData | URLSearchParams | Uint8Array<ArrayBuffer> | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Returns the platform's answer: JSON, or plain text if it is not JSON. A refusal throws a `PlatformError`. */
export async function callPlatform(call: PlatformCall): Promise<unknown> {
  const { platform, what, url, method, headers, json, body, timeoutMs, signal } = call;
  const timeout = AbortSignal.timeout(timeoutMs);
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...(json !== undefined && { 'content-type': 'application/json' }) },
    body: json === undefined ? (body ?? null) : JSON.stringify(json),
    // Send the token to the address of the config only: follow no redirects.
    redirect: 'error',
    signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
  });
  const text = await response.text();
  const answer = parsedJson(text) ?? text;
  if (response.ok) return answer;
  const { reason, code, waitSeconds } = refusalIn(answer);
  const asked = waitSeconds ?? numberOf(response.headers.get('retry-after'));
  throw new PlatformError(
    `${platform} refused ${what}: ${reason} (${response.status})`,
    response.status,
    asked === undefined ? undefined : Math.ceil(asked * 1000),
    code,
  );
}

/** Discord and Meta report it in different ways. */
const refusalSchema = z.looseObject({
  message: z.string().optional(),
  retry_after: z.number().optional(),
  code: z.number().optional(),
  error: z
    .looseObject({
      message: z.string().optional(),
      code: z.number().optional(),
      error_data: z.looseObject({ details: z.string().optional() }).optional(),
    })
    .optional(),
});

function refusalIn(answer: unknown) {
  const { data } = refusalSchema.safeParse(answer);
  const reason = data?.error?.message ?? data?.message ?? 'no reason given';
  const details = data?.error?.error_data?.details;
  return {
    reason: (details === undefined ? reason : `${reason}: ${details}`).slice(0, 500),
    code: data?.error?.code ?? data?.code,
    waitSeconds: data?.retry_after,
  };
}

function numberOf(header: string | null): number | undefined {
  return header !== null && /^\d+(\.\d+)?$/.test(header) ? Number(header) : undefined;
}
