/**
 * How a command speaks to the host: looked for at each request, started if need be. What no host took is asked again;
 * what a host may have taken and did not answer is not, so nothing runs twice.
 */

import { within } from '../../base/cancel.ts';
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import type { ClientSocket, HttpAnswer, Transport } from '../../client/transport.ts';
import { unixTransport } from '../../client/unix-transport.ts';
import { noAnswerFrom, type Reaching, reachHost } from './reach-host.ts';
import { reachSettings } from './reach-settings.ts';

const answerDeadlineMs = 20_000;
const startWaitMs = 5_000;

export interface HostTransportOptions {
  /** How long to wait for a process that holds the sandboxes for itself. */
  readonly waitMs: number;
  readonly takeOver?: boolean;
  /** The command can do without a host: where none can be reached, it serves itself. */
  readonly isOptional?: boolean;
  /** Serves in this process, where no host is to be started; until the transport is disposed of. */
  readonly alone: () => Promise<{ readonly socket: string } & AsyncDisposable>;
}

export class HostTransport implements Transport, AsyncDisposable {
  readonly name = 'the host of the sandboxes';
  readonly #context: Reaching;
  readonly #options: HostTransportOptions;
  #takeOver: boolean;
  #greeted: string | undefined;
  #alone: Awaited<ReturnType<HostTransportOptions['alone']>> | undefined;

  constructor(context: Reaching, options: HostTransportOptions) {
    this.#context = context;
    this.#options = options;
    this.#takeOver = options.takeOver === true;
  }

  async fetch(path: string, init: RequestInit): Promise<HttpAnswer> {
    for (;;) {
      const socket = await this.#reach(true);
      const answer = await takenAnswer(() => unixTransport(socket).fetch(path, init), init);
      if (answer !== undefined) return answer;
      this.#greeted = undefined;
    }
  }

  /** A host does nothing before it has agreed to the conversation. */
  async connect(path: string, headers: Readonly<Record<string, string>>): Promise<ClientSocket> {
    for (;;) {
      const socket = await this.#reach(false);
      const { signal } = this.#context;
      const answering = { ms: answerDeadlineMs, what: 'The answer of the host', signal };
      try {
        return await within(answering, async (stop) =>
          unixTransport(socket).connect(path, headers, { signal: stop }),
        );
      } catch (error) {
        if (isGeodeError(error, 'timed_out')) {
          throw noAnswerFrom((await reachSettings(this.#context)).stateDir);
        }
        if (isGeodeError(error) && error.code !== 'stopping') throw error;
        this.#greeted = undefined;
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#alone?.[Symbol.asyncDispose]();
  }

  /** `greets`: whether it answers is asked once, before the first request that may change something. */
  async #reach(greets: boolean): Promise<string> {
    if (this.#alone !== undefined) return this.#alone.socket;
    if (this.#greeted !== undefined) return this.#greeted;
    const { waitMs, isOptional = false } = this.#options;
    const asked = { waitMs, takeOver: this.#takeOver, greets };
    const reached = await reachHost(this.#context, asked).catch((error) => {
      if (isOptional && isGeodeError(error) && error.code !== 'cancelled') return undefined;
      throw error;
    });
    this.#takeOver = false;
    if (reached !== undefined) {
      if (greets) this.#greeted = reached;
      return reached;
    }
    this.#alone = await this.#options.alone();
    return this.#alone.socket;
  }
}

/** Undefined if the host is gone or ending and did not process the request. */
async function takenAnswer(
  ask: () => Promise<HttpAnswer>,
  init: RequestInit,
): Promise<HttpAnswer | undefined> {
  try {
    const answer = await ask();
    if (answer.status !== 503) return answer;
    const text = await answer.text();
    return isStopping(text) ? undefined : { ...answer, body: null, text: async () => text };
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
    if (code === 'ECONNREFUSED' || code === 'ENOENT') return undefined;
    const isCut = code === 'ECONNRESET' || code === 'EPIPE';
    if (isCut && init.method === 'GET') return undefined;
    if (!isCut || init.signal?.aborted) throw thrown;
    throw new GeodeError('host_lost', 'The host ended in the middle of this command', { cause: thrown });
  }
}

function isStopping(text: string): boolean {
  const problem = parsedJson(text);
  return typeof problem === 'object' && problem !== null && 'code' in problem && problem.code === 'stopping';
}

/** A transport for callers that may live longer than the host: each request finds or starts a host. */
export function hostTransport(context: Reaching): Transport {
  const alone = async (): Promise<never> => {
    throw new GeodeError(
      'runtime_unavailable',
      'There is no host, and sandbox.linger is 0: none is started.',
      {
        hint: 'Start geode gateway or geode host, or set sandbox.linger.',
      },
    );
  };
  return new HostTransport(context, { waitMs: startWaitMs, alone });
}
