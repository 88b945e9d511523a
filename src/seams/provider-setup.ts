import type { Cancel } from '../base/cancel.ts';
import type { User } from '../base/identity.ts';
import type { ProviderKind } from './model.ts';

/** A model provider and the usual model of the host. */
export interface ProviderSettings {
  /** The name of the service. */
  readonly service: string;
  readonly kind: ProviderKind;
  readonly baseUrl?: string | undefined;
  readonly key?: string | undefined;
  readonly model: string;
}

/** The providers of the running host, as an operator changes them. */
export interface ProviderSetup {
  /**
   * One short call, which is not counted. Throws the errors of the model seam. The stored key is used only with the
   * configured kind and address, so no other server receives it.
   */
  test(provider: ProviderSettings, options?: Cancel): Promise<ProviderTrial>;
  /**
   * Stores the key as a secret of the operator, writes the config file, and uses the provider from the next call on.
   * One at a time. Throws `setting_overridden` if a variable sets the providers; then nothing changes.
   */
  connect(user: User, provider: ProviderSettings): Promise<ConnectedProvider>;
}

interface ProviderTrial {
  readonly text: string;
  readonly durationMs: number;
  /** In US dollars; null if the price is unknown. */
  readonly cost: number | null;
}

interface ConnectedProvider {
  /** SERVICE/MODEL */
  readonly model: string;
  readonly file: string;
  readonly warning: string | null;
}
