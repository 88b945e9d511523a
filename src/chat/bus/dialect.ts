import type { Fragment, Work } from './statements.ts';

/** Differences between the databases of the bus. */
export interface Dialect {
  /** The position behind all messages. */
  readonly nextPosition: Fragment;
  /** A number above that of every earlier claim. */
  readonly nextEpoch: Fragment;
  /** End of a query whose row no other transaction may change until this one ends. */
  readonly forUpdate: Fragment;
  /** Added after a table's name where the planner would choose another index. */
  index(name: string): Fragment;
  /** A query of one column, `value`. */
  list(values: readonly string[]): Fragment;
  keyBegins(start: string): Fragment;
  readonly hosts: Hosts;
}

/** Hosts that share the tables. Each home's lanes are processed by one of them. */
interface Hosts {
  /** Records that this host is alive. */
  renew(now: number): Work<void>;
  /** SQL condition: `head.home` is free for this host. */
  isFree(now: number): Fragment;
  take(home: string): Work<void>;
  /** For a single host. */
  forgetOthers(): Work<void>;
}
