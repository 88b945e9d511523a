import { GeodeError } from '../../base/errors.ts';
import { createRateLimiter } from '../../base/rate-limit.ts';
import type { E2bSandbox, E2bTable } from './e2b-table.ts';
import type { SandboxTokens, SignedUrl } from './sandbox-tokens.ts';

/** Maximum new signatures per address: each is compared with every sandbox, because a URL does not name its own. */
const searches = { perMinute: 600, burst: 200 };
const mostRemembered = 10_000;

/** Finds the sandbox of a signed URL. Signatures found before are cached. */
export class SignedUrls {
  readonly #table: Pick<E2bTable, 'get' | 'openOnes'>;
  readonly #tokens: SandboxTokens;
  readonly #limiter = createRateLimiter(searches);
  readonly #known = new Map<string, { readonly user: string; readonly id: string }>();

  constructor(table: Pick<E2bTable, 'get' | 'openOnes'>, tokens: SandboxTokens) {
    this.#table = table;
    this.#tokens = tokens;
  }

  /** Undefined if no sandbox signed it. Throws `rate_limited` if an address tries too many. */
  find(url: SignedUrl, address: string): E2bSandbox | undefined {
    const known = this.#known.get(url.signature);
    if (known !== undefined) {
      const sandbox = this.#table.get(known.user, known.id);
      return sandbox && this.#tokens.isSigned(sandbox, url) ? sandbox : undefined;
    }
    const waitMs = this.#limiter.take(address);
    if (waitMs > 0)
      throw new GeodeError('rate_limited', 'Too many signed URLs from this address', {
        details: { retry_after_s: Math.ceil(waitMs / 1000) },
      });
    const found = this.#table.openOnes().find((sandbox) => this.#tokens.isSigned(sandbox, url));
    if (found !== undefined) this.#remember(url.signature, found);
    return found && this.#table.get(found.user, found.id);
  }

  #remember(signature: string, { user, id }: { readonly user: string; readonly id: string }): void {
    this.#known.set(signature, { user, id });
    const [oldest] = this.#known.keys();
    if (this.#known.size > mostRemembered && oldest !== undefined) this.#known.delete(oldest);
  }
}
