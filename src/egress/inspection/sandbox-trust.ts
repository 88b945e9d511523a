import type { Cancel } from '../../base/cancel.ts';
import type { Hatch } from '../../seams/egress.ts';
import { Authority } from './authority.ts';
import { commonRoots } from './upstream-tls.ts';

/** Where a sandbox's authority is stored between hosts. */
export interface AuthorityStore {
  /** The text last passed to `save`. */
  load(): string | undefined;
  save(stored: string): void;
}

/**
 * The authority that one sandbox trusts. Created when the first rule needs it, then kept for the life of the sandbox.
 */
export class SandboxTrust {
  readonly #hatch: Pick<Hatch, 'trust'>;
  readonly #store: AuthorityStore | undefined;
  #authority: Authority | undefined;
  #placed: string | undefined;

  constructor(hatch: Pick<Hatch, 'trust'>, store: AuthorityStore | undefined) {
    this.#hatch = hatch;
    this.#store = store;
  }

  get authority(): Authority {
    if (this.#authority !== undefined) return this.#authority;
    const stored = this.#store?.load();
    const known = stored === undefined ? undefined : Authority.from(stored);
    this.#authority = known ?? Authority.create();
    if (known === undefined) this.#store?.save(this.#authority.stored());
    return this.#authority;
  }

  /** The path in the sandbox of the file with its certificate and the roots. */
  async place(cancel: Cancel): Promise<string> {
    this.#placed ??= await this.#hatch.trust(this.authority.certificate, commonRoots(), cancel);
    return this.#placed;
  }
}
