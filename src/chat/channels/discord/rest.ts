import { callPlatform, type PlatformCall } from '../call-platform.ts';

export interface DiscordRest {
  call(
    method: PlatformCall['method'],
    path: string,
    options?: Pick<PlatformCall, 'json' | 'body' | 'signal'> & { readonly timeoutMs?: number },
  ): Promise<unknown>;
}

const usualTimeoutMs = 60_000;

/** Discord's REST API as a bot. */
export function discordRest(apiUrl: string, token: string): DiscordRest {
  return {
    call: (method, path, { timeoutMs = usualTimeoutMs, ...rest } = {}) =>
      callPlatform({
        platform: 'Discord',
        // The token of an interaction is a part of its path.
        what: `${method} ${path.replace(/^(\/interactions\/\w+)\/.*/, '$1')}`,
        url: `${apiUrl.replace(/\/$/, '')}${path}`,
        method,
        headers: { authorization: `Bot ${token}` },
        timeoutMs,
        ...rest,
      }),
  };
}
