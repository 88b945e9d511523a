import type { Function as FunctionNode } from 'unbash';
import { limits } from './limits.ts';
import { tooManyValues } from './unknowns.ts';

/** A scalar is one item; an array has any number. */
export type Value = readonly string[];

export interface ShellFunction {
  readonly body: FunctionNode['body'];
  readonly source: string;
}

/**
 * What a script has set by the time a command runs: variables, functions, aliases, arguments, folder.
 *
 * A variable holds every value it may have, because a script branches: each branch works on a fork of the
 * scope, and where branches meet, `join` keeps the values of all of them.
 */
export class Scope {
  readonly #parent: Scope | undefined;
  readonly #variables = new Map<string, readonly Value[]>();
  readonly #functions = new Map<string, ShellFunction | undefined>();
  readonly #aliases = new Map<string, string>();
  /** `$1`, `$2`, …; `undefined` in a function that is looked at without a call. */
  arguments: readonly string[] | undefined;
  /** `$0`. */
  scriptName: string;
  /** After `set -u` an unset variable ends the script instead of being empty. */
  failsOnUnset: boolean;

  constructor(parent?: Scope) {
    this.#parent = parent;
    this.arguments = parent === undefined ? [] : parent.arguments;
    this.scriptName = parent?.scriptName ?? 'sh';
    this.failsOnUnset = parent?.failsOnUnset ?? false;
  }

  fork(): Scope {
    return new Scope(this);
  }

  /** The values a variable may have; none when it is unset. */
  values(name: string): readonly Value[] {
    return this.#variables.get(name) ?? this.#parent?.values(name) ?? [];
  }

  set(name: string, ...values: readonly Value[]): void {
    this.#variables.set(name, values.length > limits.values ? [[tooManyValues]] : values);
  }

  /** Keeps the values there are and adds one. */
  add(name: string, value: Value): void {
    this.set(name, ...distinct([...this.values(name), value]));
  }

  unset(name: string): void {
    this.#variables.set(name, []);
    this.#functions.set(name, undefined);
  }

  function(name: string): ShellFunction | undefined {
    return this.#functions.has(name) ? this.#functions.get(name) : this.#parent?.function(name);
  }

  define(name: string, definition: ShellFunction): void {
    this.#functions.set(name, definition);
  }

  /** The text of an alias; none for one that was taken away by setting it to nothing. */
  alias(name: string): string | undefined {
    const text = this.#aliases.get(name) ?? this.#parent?.alias(name);
    return text === '' ? undefined : text;
  }

  setAlias(name: string, text: string): void {
    this.#aliases.set(name, text);
  }

  /** Whether anything was set in this fork. */
  get changed(): boolean {
    return this.#variables.size > 0 || this.#functions.size > 0 || this.#aliases.size > 0;
  }

  /**
   * Takes over what forks of this scope may have set. When one of them surely ran (`complete`), the values
   * from before are gone; else they stay possible. A variable that was unset before counts as set afterwards:
   * scripts set a default that way.
   */
  join(forks: readonly Scope[], complete: boolean): void {
    const names = new Set(forks.flatMap((fork) => [...fork.#variables.keys()]));
    for (const name of names) {
      const after = forks.flatMap((fork) => fork.values(name));
      this.set(name, ...distinct(complete ? after : [...this.values(name), ...after]));
    }
    for (const fork of forks) {
      for (const [name, definition] of fork.#functions) if (definition) this.define(name, definition);
      for (const [name, text] of fork.#aliases) this.setAlias(name, text);
    }
  }

  /** Takes over everything from a fork that surely ran, except the named variables. */
  adopt(fork: Scope, except: ReadonlySet<string>): void {
    for (const name of except) fork.#variables.delete(name);
    this.join([fork], true);
    this.failsOnUnset = fork.failsOnUnset;
  }
}

function distinct(values: readonly Value[]): Value[] {
  return [...new Map(values.map((value) => [value.join('\0'), value])).values()];
}
