/**
 * One log for every part of the host. A line carries a message for people and facts for programs; never a body, a
 * query, a key or a secret. An error is the fact `err`. A pino logger is one of these.
 */
export interface Log {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
  /** A log whose lines all carry these facts. */
  child(facts: LogFacts): Log;
}

type LogFacts = Record<string, unknown>;

interface LogLine {
  (message: string): void;
  (facts: LogFacts, message: string): void;
}

/** For a library call or a test that wants no log. */
export const noLog: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => noLog };
