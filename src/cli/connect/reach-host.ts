import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { throwIfCancelled, within } from '../../base/cancel.ts';
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import { askToLeave } from '../../client/host-client.ts';
import { isOwnSocket } from '../../client/own-socket.ts';
import { unixTransport } from '../../client/unix-transport.ts';
import { differingIn, isOfMemory, type Marks } from '../../config/marks.ts';
import { type HostFacts, namedHost } from '../../machine/named-host.ts';
import type { CliContext } from '../command.ts';
import { program } from '../version.ts';
import { forgetReachSettings, reachSettings } from './reach-settings.ts';

const pauseMs = 25;
/** A host that is being started by another command is waited for that long. */
const startMs = 60_000;
/** An end of another host that is under way is not refused. */
const leastWaitMs = 1_000;
const answerDeadlineMs = 20_000;

export type Reaching = Pick<CliContext, 'loaded' | 'machine' | 'cwd' | 'values' | 'signal'>;

export interface ReachOptions {
  /** How long to wait for a process that holds the sandboxes for itself. */
  readonly waitMs: number;
  /** Ends the existing host first. */
  readonly takeOver: boolean;
  /** False for a caller that hears the host's first word itself, before anything is done. */
  readonly greets: boolean;
}

/**
 * The socket of a host that goes by the same settings: the one that runs, or one that is started in the background.
 * Undefined where none is to be started and none that is there serves.
 */
export async function reachHost(
  context: Reaching,
  { waitMs, takeOver, greets }: ReachOptions,
): Promise<string | undefined> {
  const { stateDir, linger } = await reachSettings(context);
  const { signal } = context;
  const until = now() + waitMs + startMs;
  let refusal: string | undefined;
  /** `--take-over` replaces a running host. */
  let unwanted = takeOver;
  let started = 0;
  const look = async () => {
    const found = unwanted ? undefined : await lookForHost(context, greets);
    if (typeof found !== 'object') return found;
    refusal = found.leaves ? undefined : found.refusal;
    // This command started that host: what it keeps of its settings is from before a change of Geode itself.
    if (started === 1) forgetReachSettings(context);
    if (started > 1) throw withReason(noAnswerFrom(stateDir), found.refusal);
    return undefined;
  };
  for (;;) {
    throwIfCancelled(signal, 'Waiting for the host of the sandboxes');
    if (now() > until) throw noAnswerFrom(stateDir);
    const found = await look();
    if (found !== undefined || linger === 0) return found;
    const { makeStateFolder, tryLock } = await import('../../machine/host-lock.ts');
    makeStateFolder(stateDir);
    // If many commands find no host at the same time, one of them starts it.
    using turn = tryLock(join(stateDir, 'start.lock'));
    if (turn === undefined) {
      await delay(pauseMs);
      continue;
    }
    const running = await look();
    if (running !== undefined) return running;
    const { startHost } = await import('./start-host.ts');
    await startHost(context, {
      waitMs: Math.max(waitMs, leastWaitMs),
      takeOver: unwanted,
      signal,
    }).catch((error) => {
      throw refusal === undefined ? error : withReason(error, refusal);
    });
    unwanted = false;
    started += 1;
  }
}

/** In ms. The clock of `performance` takes a millisecond to load, which is no part of any other command's wait. */
function now(): number {
  return process.uptime() * 1000;
}

/** Undefined if no host runs, or if it is ending. */
async function lookForHost(
  context: Reaching,
  greets: boolean,
): Promise<string | { readonly refusal: string; readonly leaves: boolean } | undefined> {
  const { signal } = context;
  const { stateDir, marks } = await reachSettings(context);
  const serves = namedHost(stateDir)?.serves;
  if (serves === undefined || !isOwnSocket(serves.api)) return undefined;
  const answering = { ms: answerDeadlineMs, what: 'The answer of the host', signal };
  const orUnanswered = (error: unknown) => {
    throw isGeodeError(error, 'timed_out') ? noAnswerFrom(stateDir) : error;
  };
  const refusal = differenceFrom(serves, marks);
  if (refusal !== undefined) {
    const leaves = await within(answering, (stop) => askToLeave(serves.api, { signal: stop })).catch(
      orUnanswered,
    );
    return { refusal, leaves };
  }
  if (!greets) return serves.api;
  const answers = await within(answering, (stop) => isAnswering(serves.api, stop)).catch(orUnanswered);
  return answers ? serves.api : undefined;
}

async function isAnswering(socket: string, signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await unixTransport(socket).fetch('/health', { method: 'GET', signal });
    // An unread body would keep its connection, and this process, open until the host's timeout.
    await answer.text();
    return answer.ok;
  } catch {
    return false;
  }
}

/** Why a host cannot do what this command would do; undefined if it can. */
function differenceFrom(serves: NonNullable<HostFacts['serves']>, ours: Marks): string | undefined {
  if (serves.program !== program) return `is another Geode, ${serves.program ?? 'of another version'}`;
  const differing = differingIn(serves.settings ?? {}, ours, (name) => !isOfMemory(name));
  return differing.length === 0 ? undefined : `runs with other settings: ${differing.join(', ')}`;
}

function withReason(error: unknown, reason: string): unknown {
  if (!isGeodeError(error, 'ledger_held')) return error;
  const { code, message, hint, details } = error;
  return new GeodeError(code, `${message.replace(/\.$/, '')}, which ${reason}.`, { hint, details });
}

export function noAnswerFrom(stateDir: string): GeodeError {
  const pid = namedHost(stateDir)?.pid;
  return new GeodeError(
    'ledger_held',
    `The host of the sandboxes${pid ? `, process ${pid},` : ''} does not answer.`,
    {
      hint: '--take-over ends it and starts another; everything in its sandboxes goes on.',
      details: pid === undefined ? {} : { pid },
    },
  );
}
