/** Model providers of the host. No answer contains a key. */
import type { providers } from '../../contract/providers.ts';
import type { ProviderSetup } from '../../seams/provider-setup.ts';
import type { Handlers } from '../serve.ts';

export function providerHandlers(setup: ProviderSetup): Handlers<typeof providers> {
  return {
    test: (provider, { signal }) => setup.test(provider, { signal }),
    connect: (provider, { caller }) => setup.connect(caller.user, provider),
  };
}
