import { callPlatform, type PlatformCall } from '../call-platform.ts';

export interface DiscordRest {
  call(
    method: PlatformCall['method'],
    path: string,
    options?: Pick<PlatformCall, 'json' | 'body' | 'signal'> & { readonly timeoutMs?: number },
  ): Promise<unknown>;
}

const usualTimeoutMs = 60_000;

/** Client of Discord's REST API with a bot token. */
export function discordRest(apiUrl: string, token: string): DiscordRest {
  return {
    call: (method, path, { timeoutMs = usualTimeoutMs, ...rest } = {}) =>
      callPlatform({
        platform: 'Discord',
        // The path contains the token of an interaction.
        what: `${method} ${path.replace(/^(\/interactions\/\w+)\/.*/, '$1')}`,
        url: `${apiUrl.replace(/\/$/, '')}${path}`,
        method,
        headers: { authorization: `Bot ${token}` },
        timeoutMs,
        ...rest,
      }),
  };
}
