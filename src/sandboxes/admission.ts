import { GeodeError } from '../core/errors.ts';

/** How many sandboxes may run at once. */
export interface AdmissionLimits {
  readonly most: number;
  readonly mostPerUser: number;
}

/** Counts what runs, by looking, and what is about to: there is no counter of the running ones to drift. */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #running: () => readonly string[];
  readonly #coming: string[] = [];

  /** `running` names the user of each sandbox that runs. */
  constructor(limits: AdmissionLimits, running: () => readonly string[]) {
    this.#limits = limits;
    this.#running = running;
  }

  /** Room for one more of the user, until the work is done; then what it made is seen to run. */
  async admit<T>(user: string, work: () => Promise<T>): Promise<T> {
    const users = [...this.#running(), ...this.#coming];
    const { most, mostPerUser } = this.#limits;
    const own = users.filter((other) => other === user).length;
    if (own >= mostPerUser)
      throw tooMany(`This user has ${own} sandboxes running; the most is ${mostPerUser}.`);
    if (users.length >= most)
      throw tooMany(`${users.length} sandboxes are running here; the most is ${most}.`);
    this.#coming.push(user);
    try {
      return await work();
    } finally {
      this.#coming.splice(this.#coming.indexOf(user), 1);
    }
  }
}

function tooMany(message: string): GeodeError {
  return new GeodeError('too_many_sandboxes', message);
}
