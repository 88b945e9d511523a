import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { type Cancel, cancelled, onAbort, throwIfCancelled } from '../../base/cancel.ts';
import { errorCatalogue } from '../../base/error-catalogue.ts';
import { type ErrorCode, GeodeError, reasonOf } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';

/** The program cleans up when its input ends; after this time it is killed. */
const tidyUpMs = 4_000;

export interface Job extends Cancel {
  /** The workspace program (guest/cmd/workspace), which runs on the host, never in a sandbox. */
  readonly program: string;
  /** The request, sent on stdin and never on the command line, where other users could read it. */
  readonly request: Readonly<Record<string, unknown>>;
  /** For display: "Taking a snapshot". */
  readonly what: string;
  readonly deadlineMs: number;
}

const lastSchema = z.union([
  z.object({ done: z.literal(true) }),
  z.object({ error: z.object({ code: z.string(), message: z.string() }) }),
]);

/**
 * Runs one job of the program and yields its answers, line by line. `go` lets it continue after an answer at which it
 * waits. Ending the loop ends the program; it has exited when the generator is done.
 */
export async function* answersOf(job: Job): AsyncGenerator<{ readonly line: unknown; go(): void }> {
  const { program, what, signal, deadlineMs } = job;
  throwIfCancelled(signal, what);
  const child = spawn(program, [], { cwd: '/', env: {}, stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = endOf(child, what);
  child.stdin.on('error', () => {});
  const tidyUp = () => {
    child.stdin.end();
    setTimeout(() => child.kill('SIGKILL'), tidyUpMs).unref();
  };
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    tidyUp();
  }, deadlineMs);
  using _watching = onAbort(signal, tidyUp);
  let finished = false;
  try {
    child.stdin.write(`${JSON.stringify(job.request)}\n`);
    for await (const text of createInterface({ input: child.stdout })) {
      const line = parsedJson(text);
      // A killed program leaves an incomplete line.
      if (line === undefined) throw new GeodeError('internal', `${what} ended during an answer.`);
      const last = lastSchema.safeParse(line);
      if (!last.success) {
        yield { line, go: () => child.stdin.write('\n') };
        continue;
      }
      finished = true;
      if ('error' in last.data) throw failure(what, last.data.error);
    }
    const end = await ended;
    if (!finished) throw new GeodeError('internal', `${what} ended early: ${end}.`);
  } catch (error) {
    throwIfCancelled(signal, what);
    if (late) throw new GeodeError('timed_out', `${what} did not finish within ${deadlineMs} ms.`);
    throw error;
  } finally {
    clearTimeout(timer);
    tidyUp();
    child.stdout.resume();
    await ended.catch(() => {});
  }
}

/** The only answer of a job that has one. */
export async function programAnswer<T>(job: Job, schema: z.ZodType<T>): Promise<T> {
  let answer: T | undefined;
  for await (const { line } of answersOf(job)) answer = schema.parse(line);
  if (answer === undefined) throw new GeodeError('internal', `${job.what} had no answer.`);
  return answer;
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

function endOf(child: Child, what: string): Promise<string> {
  const ended = new Promise<string>((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new GeodeError('internal', `${what} could not start: ${reasonOf(cause)}.`, { cause })),
    );
    child.once('close', (code, signal) => resolve(signal ?? `code ${code}`));
  });
  ended.catch(() => {});
  return ended;
}

function failure(what: string, { code, message }: { code: string; message: string }): GeodeError {
  if (code === 'cancelled') return cancelled(what);
  return new GeodeError(isErrorCode(code) ? code : 'internal', `${what} failed: ${message}.`);
}

function isErrorCode(code: string): code is ErrorCode {
  return code in errorCatalogue;
}
