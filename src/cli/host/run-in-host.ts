import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../../config/schema.ts';
import { throwIfCancelled, within } from '../../core/cancel.ts';
import { GeodeError, isGeodeError } from '../../core/errors.ts';
import { connectTo } from '../../host/host-socket.ts';
import { makeStateFolder, namedHost, tryLock } from '../../ledger/host-lock.ts';
import type { CliCommand, CliContext } from '../command.ts';
import { waitFrom } from '../hosting.ts';
import { orNotRun } from '../run-command.ts';
import { relay } from './relay.ts';
import { refusalSchema, requestOf } from './request.ts';
import { startHost } from './start-host.ts';
import { type Frame, Wire } from './wire.ts';

const pauseMs = 25;
/** A host that is being started by another command is waited for that long. */
const startMs = 60_000;
/** An end of another host that is under way is not refused. */
const leastWaitMs = 1_000;
const answerDeadlineMs = 20_000;

/**
 * Has a command run by the host of the sandboxes, which is started if there is none. Without one that serves, the
 * command is the host itself for as long as it takes.
 */
export async function runInHost(command: CliCommand, context: CliContext): Promise<number> {
  const work = async () => {
    if (command.reads && !existsSync((await context.loaded()).config.sandbox.state_dir)) throw noSandboxes();
    const reached = await reachHost(command, context).catch((error) => {
      if (command.host === 'wanted' && isGeodeError(error) && error.code !== 'cancelled') return undefined;
      throw error;
    });
    return reached === undefined ? command.run(context) : relay(reached, context);
  };
  return command.passesExitCode ? orNotRun(context, work) : work();
}

function noSandboxes(): GeodeError {
  return new GeodeError('sandbox_not_found', 'There are no sandboxes yet.', {
    hint: 'geode sandbox create CHAT makes one.',
  });
}

/** A host that has taken the command and waits for the word to begin. */
export interface Reached {
  readonly wire: Wire;
  readonly frames: AsyncGenerator<Frame>;
}

/** Undefined where no host is to be started and none that is there serves. */
async function reachHost(command: CliCommand, context: CliContext): Promise<Reached | undefined> {
  const { config } = await context.loaded();
  const { state_dir: stateDir, linger } = config.sandbox;
  const { signal } = context;
  const waitMs = command.host === 'wanted' ? 0 : waitFrom(context);
  const until = performance.now() + waitMs + startMs;
  let takeOver = context.values['take-over'] === true;
  let refusal: string | undefined;
  /** Who takes over wants another host than the one that is there. */
  const ask = async () => {
    const answer = takeOver ? undefined : await askHost(command, context, config);
    if (answer === undefined || !('refusal' in answer)) return answer;
    refusal = answer.refusal;
    return undefined;
  };
  makeStateFolder(stateDir);
  for (;;) {
    throwIfCancelled(signal, 'Waiting for the host of the sandboxes');
    if (performance.now() > until) throw unanswered(stateDir);
    const reached = await ask();
    if (reached !== undefined || linger === 0) return reached;
    if (refusal !== undefined && command.host === 'wanted') return undefined;
    // Of many that find no host, one starts it.
    using turn = tryLock(join(stateDir, 'start.lock'));
    if (turn === undefined) {
      await delay(pauseMs);
      continue;
    }
    const meanwhile = await ask();
    if (meanwhile !== undefined) return meanwhile;
    await startHost(context, { waitMs: Math.max(waitMs, leastWaitMs), takeOver, signal }).catch((error) => {
      throw refusal === undefined ? error : withReason(error, refusal);
    });
    takeOver = false;
  }
}

/** Undefined when nobody is there, or nobody who stays. */
async function askHost(
  command: CliCommand,
  context: CliContext,
  config: Config,
): Promise<Reached | { readonly refusal: string } | undefined> {
  const { state_dir: stateDir } = config.sandbox;
  const socket = namedHost(stateDir)?.serves?.socket;
  const connection = socket === undefined ? undefined : await connectTo(socket);
  if (connection === undefined) return undefined;
  const wire = new Wire(connection);
  const frames = wire.frames();
  wire.sendJson('request', requestOf(command, context, config));
  const deadline = { ms: answerDeadlineMs, what: 'The answer of the host', signal: context.signal };
  const { value: answer } = await within(deadline, () => frames.next()).catch((error) => {
    wire[Symbol.dispose]();
    throw isGeodeError(error, 'timed_out') ? unanswered(stateDir) : error;
  });
  if (answer?.kind === 'accepted') return { wire, frames };
  wire[Symbol.dispose]();
  if (answer?.kind !== 'refused') return undefined;
  const { reason, leaves } = refusalSchema.parse(JSON.parse(answer.bytes.toString()));
  return leaves ? undefined : { refusal: reason };
}

function withReason(error: unknown, reason: string): unknown {
  if (!isGeodeError(error, 'ledger_held')) return error;
  const { code, message, hint, details } = error;
  return new GeodeError(code, `${message.replace(/\.$/, '')}, which ${reason}.`, { hint, details });
}

function unanswered(stateDir: string): GeodeError {
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
