import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';

/** How many sandboxes may run at once. */
export interface AdmissionLimits {
  readonly most: number;
  readonly mostPerUser: number;
}

/** The user of each sandbox. */
export interface RunningUsers {
  /** The running sandboxes. */
  running(): readonly string[];
  /** Sandboxes that may be running, not checked yet. */
  unknown(): readonly string[];
  /** Waits until one sandbox fewer is unknown. */
  known(cancel: Cancel): Promise<void>;
}

/** Counts running sandboxes by checking them, plus starts in progress. There is no counter that could drift. */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #census: RunningUsers;
  readonly #coming: string[] = [];

  constructor(limits: AdmissionLimits, census: RunningUsers) {
    this.#limits = limits;
    this.#census = census;
  }

  /**
   * Reserves room for one more sandbox of the user until the work is done; from then on the running sandbox itself
   * counts.
   */
  async admit<T>(user: string, cancel: Cancel, work: () => Promise<T>): Promise<T> {
    // Unchecked sandboxes count as running. Wait for the check only if it makes a difference.
    while (this.#refusal(user, this.#census.unknown()) !== undefined) {
      const refusal = this.#refusal(user, []);
      if (refusal !== undefined) throw refusal;
      await this.#census.known(cancel);
    }
    this.#coming.push(user);
    try {
      return await work();
    } finally {
      this.#coming.splice(this.#coming.indexOf(user), 1);
    }
  }

  #refusal(user: string, unknown: readonly string[]): GeodeError | undefined {
    const users = [...this.#census.running(), ...this.#coming, ...unknown];
    const { most, mostPerUser } = this.#limits;
    const own = users.filter((other) => other === user).length;
    if (own >= mostPerUser)
      return tooMany(`This user has ${own} running sandboxes; the maximum is ${mostPerUser}.`);
    if (users.length >= most)
      return tooMany(`${users.length} sandboxes are running here; the maximum is ${most}.`);
    return undefined;
  }
}

function tooMany(message: string): GeodeError {
  return new GeodeError('too_many_sandboxes', message);
}
