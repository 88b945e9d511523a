/** The context of a tool call in a session, and the checks of every call: the rate, the deadline, the audit. */

import { onAbort } from '../../base/cancel.ts';
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import { createRateLimiter, type RateLimit, type RateLimiter } from '../../base/rate-limit.ts';
import { scrub } from '../../base/scrub.ts';
import type { GeodeClient } from '../../client/client.ts';
import type { Approvals } from '../../seams/approval.ts';
import type { Files } from '../../seams/files.ts';
import type { ToolCallRecord, ToolReach, ToolSession } from '../../seams/tools.ts';
import { isOffered } from '../servers/allowed.ts';
import { type AskedCall, type Conduct, cut, type Tool, type ToolContext } from '../tool.ts';
import type { SessionResources } from './resources.ts';

/** A call from inside a sandbox. The caller is the session's user; no argument can name another. */
export interface SessionCall extends ToolContext {
  readonly session: ToolSession;
  /** The workspace of the calling sandbox. */
  readonly files: Files;
  readonly resources: SessionResources;
  /** The one way to ask a person, and the time for an answer. */
  readonly approvals: Approvals;
  readonly waitMs: number;
  readonly rules: Pick<CallRules, 'schedules' | 'mostSchedules'>;
  /** Writes the memory that all chats of the user share: only for entries that a person allowed. */
  readonly userMemory: () => Promise<Pick<GeodeClient, 'ingest'>>;
}

export type SessionTool = Tool<SessionCall>;

export interface CallRules {
  readonly rate: RateLimit;
  readonly timeoutMs: number;
  /** Deadline of a call that waits for a person. */
  readonly askTimeoutMs: number;
  /** Whether a person is asked before a message is scheduled, and the maximum number of schedules per chat. */
  readonly schedules: 'ask' | 'allow';
  readonly mostSchedules: number;
}

export interface ConductOptions extends CallRules {
  readonly session: () => ToolSession;
  readonly client: (memory?: ToolReach['memory']) => Promise<GeodeClient>;
  readonly files: Files;
  readonly resources: SessionResources;
  readonly approvals: Approvals;
  /** The rate limit of the session, shared by all its connections. */
  readonly limiter: RateLimiter;
  /** Resolves when the call is recorded; it is answered after that. */
  readonly audit: (record: ToolCallRecord) => Promise<void>;
}

export function sessionLimiter(rate: RateLimit): RateLimiter {
  return createRateLimiter(rate);
}

/** Maximum characters of arguments in the audit, in total and for one text. */
const longestArguments = 2_000;
const longestText = 200;
/** Minimum interval of progress messages to a caller that asked for them. */
const aliveEveryMs = 5_000;
/** A question without an answer ends before its call does. */
const lastWordsMs = 5_000;

export function conductIn(options: ConductOptions): Conduct<SessionCall> {
  return async (asked, work) => {
    const session = options.session();
    const at = Date.now();
    const startedAt = performance.now();
    const note = (outcome: string) => {
      const { id: sessionId, user, chat, sandboxId } = session;
      const durationMs = Math.round(performance.now() - startedAt);
      const record = { at, user, chat, sandboxId, sessionId, tool: asked.tool, outcome, durationMs };
      return options.audit({ ...record, arguments: shownArguments(asked.input) });
    };
    try {
      const answer = await passed(options, session, asked, work);
      await note('ok');
      return answer;
    } catch (error) {
      await note(isGeodeError(error) ? error.code : 'internal');
      throw error;
    }
  };
}

async function passed(
  options: ConductOptions,
  session: ToolSession,
  { tool, waitsFor, signal, progress }: AskedCall,
  work: (call: SessionCall) => Promise<object>,
): Promise<object> {
  const { limiter, timeoutMs: workMs, askTimeoutMs, client, files, resources, approvals } = options;
  if (!isOffered(session.tools, tool))
    throw new GeodeError('forbidden', `The tool ${tool} is no longer available to this session.`, {
      hint: 'Request the list of tools again.',
    });
  const waitMs = limiter.take(session.id);
  if (waitMs > 0)
    throw new GeodeError('rate_limited', `This session calls tools too often; wait ${waitMs} ms.`);
  const timeoutMs = waitsFor === 'person' ? askTimeoutMs + lastWordsMs : workMs;
  // One controller for both: combining signals costs more than all the rest of a small call.
  const ending = new AbortController();
  using _watching = onAbort(signal, () => ending.abort(signal.reason));
  const deadline = setTimeout(() => ending.abort(new Error('The deadline has passed.')), timeoutMs);
  const alive = setInterval(() => progress(`${tool} is still running`), aliveEveryMs);
  try {
    const own = { client: await client(), session, files, resources, approvals, waitMs: askTimeoutMs };
    const rights = { rules: options, userMemory: () => client('user') };
    const call = { ...own, ...rights, signal: ending.signal, progress };
    return await Promise.race([work(call), aborted(ending.signal)]);
  } catch (error) {
    if (ending.signal.aborted && !signal.aborted)
      throw new GeodeError('timed_out', `The tool ${tool} took longer than ${timeoutMs / 1000} s.`, {
        cause: error,
        hint: 'Ask for less at once, or ask the operator to raise `mcp.call_timeout`.',
      });
    throw signal.aborted
      ? new GeodeError('cancelled', 'The caller cancelled the call.', { cause: error })
      : error;
  } finally {
    clearTimeout(deadline);
    clearInterval(alive);
  }
}

/** Rejects when the signal fires; a tool that ignores the signal is not awaited. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Long texts are cut before secrets are searched, and the cut part is not stored. */
export function shownArguments(input: unknown): string {
  const text = JSON.stringify(input, (_, value) =>
    typeof value === 'string' ? cut(scrub(value.slice(0, 20 * longestText)).text, longestText) : value,
  );
  return cut(scrub(text ?? '').text, longestArguments);
}
