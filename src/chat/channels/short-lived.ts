/** Holds an object that grows with use, and replaces it after a number of uses. */
export class ShortLived<T> {
  readonly #make: () => T;
  readonly #uses: number;
  #current: T;
  #left: number;

  constructor(make: () => T, uses: number) {
    this.#make = make;
    this.#uses = uses;
    this.#current = make();
    this.#left = uses;
  }

  get one(): T {
    if (this.#left === 0) {
      this.#current = this.#make();
      this.#left = this.#uses;
    }
    this.#left -= 1;
    return this.#current;
  }
}
