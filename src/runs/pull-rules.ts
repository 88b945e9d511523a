/**
 * Images that callers without the scope `admin` may pull. The engine contacts the registry in the name, and the
 * registry's token server, on the host's network; and the image stays on its disk.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { GeodeError } from '../base/errors.ts';

/** The caller that causes a pull; undefined for callers that may pull everything, and for the host itself. */
export const pullCaller = new AsyncLocalStorage<{ readonly user: string } | undefined>();

export interface PullRules {
  /** Names of registries: `docker.io`, `ghcr.io`, `registry.example.com:5000`. */
  readonly registries: readonly string[];
  /** Maximum bytes of one image, and of all pulls of one user in a day. */
  readonly mostBytes: number;
  readonly mostBytesPerDay: number;
  readonly now?: () => number;
}

/** One pull that counts against its user's limit. */
export interface CountedPull {
  /** Reports the bytes so far; throws `too_large` if they are too many. */
  count(bytes: number): void;
}

const dayMs = 24 * 3_600_000;

export class PullAllowance {
  readonly #rules: PullRules;
  readonly #now: () => number;
  readonly #spent = new Map<string, { readonly day: number; bytes: number }>();

  constructor(rules: PullRules) {
    this.#rules = rules;
    this.#now = rules.now ?? Date.now;
  }

  /** Throws `image_not_allowed` if the current caller may not pull the image. */
  check(name: string): void {
    if (pullCaller.getStore() === undefined) return;
    const registry = registryOf(name);
    if (this.#rules.registries.includes(registry)) return;
    throw new GeodeError(
      'image_not_allowed',
      `The image ${name} is not here, and pulling from the registry ${registry} needs the scope admin.`,
      { details: { registry, registries: this.#rules.registries } },
    );
  }

  /** Undefined for a caller whose pulls do not count. */
  begin(name: string): CountedPull | undefined {
    const user = pullCaller.getStore()?.user;
    if (user === undefined) return undefined;
    const { mostBytes, mostBytesPerDay } = this.#rules;
    const spent = this.#ofToday(user);
    let counted = 0;
    return {
      count(bytes) {
        spent.bytes += Math.max(0, bytes - counted);
        counted = Math.max(counted, bytes);
        if (counted > mostBytes)
          throw tooLarge(name, `it has more than ${mostBytes} bytes`, 'images.pull_size');
        if (spent.bytes > mostBytesPerDay)
          throw tooLarge(name, `${user} has pulled ${mostBytesPerDay} bytes today`, 'images.pull_per_day');
      },
    };
  }

  #ofToday(user: string) {
    const day = Math.floor(this.#now() / dayMs);
    const before = this.#spent.get(user);
    if (before?.day === day) return before;
    for (const [name, spent] of this.#spent) if (spent.day !== day) this.#spent.delete(name);
    const begun = { day, bytes: 0 };
    this.#spent.set(user, begun);
    return begun;
  }
}

function tooLarge(name: string, why: string, setting: string): GeodeError {
  return new GeodeError('too_large', `The image ${name} was not pulled: ${why}.`, {
    hint: `Use a smaller image, or ask the operator to raise \`${setting}\` or to pull the image.`,
  });
}

/** As engines read a name: the part before the first slash is a registry if it cannot be a folder of Docker Hub. */
export function registryOf(name: string): string {
  const [first = '', ...rest] = name.split('/');
  const isRegistry = /[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase();
  const registry = rest.length > 0 && isRegistry ? first.toLowerCase() : 'docker.io';
  return registry === 'index.docker.io' ? 'docker.io' : registry;
}
