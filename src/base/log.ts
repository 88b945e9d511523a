/**
 * One log for every part of the host. A line contains a message for people and facts for programs, but never a body,
 * a query, a key or a secret. The fact `err` is an error. A pino logger satisfies this interface.
 */
export interface Log {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
  /** A log that adds these facts to every line. */
  child(facts: LogFacts): Log;
}

type LogFacts = Record<string, unknown>;

interface LogLine {
  (message: string): void;
  (facts: LogFacts, message: string): void;
}

/** For a library call or a test that needs no log. */
export const noLog: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => noLog };
