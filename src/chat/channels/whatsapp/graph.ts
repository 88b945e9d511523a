import { callPlatform, type PlatformCall } from '../call-platform.ts';
import { PlatformError } from '../platform-error.ts';

export interface Graph {
  readonly root: string;
  call(
    method: PlatformCall['method'],
    path: string,
    options?: Pick<PlatformCall, 'json' | 'body' | 'signal'> & { readonly timeoutMs?: number },
  ): Promise<unknown>;
}

const version = 'v25.0';
const usualTimeoutMs = 60_000;
/** Meta's codes for rate limits: of the app, the account, the number, and one recipient. */
const ofHaste = [4, 80007, 130429, 131048, 131056];
/** The token has expired or lacks the permission. */
const ofToken = [0, 190];

/** Meta's Graph API with one token. */
export function graph(apiUrl: string, token: string): Graph {
  const root = `${apiUrl.replace(/\/$/, '')}/${version}`;
  return {
    root,
    async call(method, path, { timeoutMs = usualTimeoutMs, ...rest } = {}) {
      try {
        return await callPlatform({
          platform: 'WhatsApp',
          what: `${method} ${path.split('?')[0]}`,
          url: `${root}${path}`,
          method,
          headers: { authorization: `Bearer ${token}` },
          timeoutMs,
          ...rest,
        });
      } catch (error) {
        throw error instanceof PlatformError ? plain(error) : error;
      }
    },
  };
}

/** The status alone does not identify the error. */
function plain(error: PlatformError): PlatformError {
  const { code = -1, message, retryAfterMs } = error;
  if (ofHaste.includes(code)) return new PlatformError(message, 429, retryAfterMs, code);
  return ofToken.includes(code) ? new PlatformError(message, 401, retryAfterMs, code) : error;
}
