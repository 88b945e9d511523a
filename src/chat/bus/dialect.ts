import type { Fragment, Work } from './statements.ts';

/** Where the databases of the bus differ. */
export interface Dialect {
  /** A place behind all messages. */
  readonly nextPosition: Fragment;
  /** A number greater than that of any claim before. */
  readonly nextEpoch: Fragment;
  /** Ends a query whose row no other transaction may change before this one ends. */
  readonly forUpdate: Fragment;
  /** Follows a table's name where the planner would choose another index. */
  index(name: string): Fragment;
  /** A query of one column, `value`. */
  list(values: readonly string[]): Fragment;
  keyBegins(start: string): Fragment;
  readonly hosts: Hosts;
}

/** The hosts that share the tables: lanes of one home are worked on by one of them. */
interface Hosts {
  /** This host is alive. */
  renew(now: number): Work<void>;
  /** Whether `head.home` is free for this host. */
  isFree(now: number): Fragment;
  take(home: string): Work<void>;
  /** This host is the only one. */
  forgetOthers(): Work<void>;
}
