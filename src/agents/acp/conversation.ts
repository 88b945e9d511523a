import {
  type ClientConnection,
  type ContentBlock,
  client,
  type McpServer,
  PROTOCOL_VERSION,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from '@agentclientprotocol/sdk';
import { z } from 'zod';
import { cancelled, unlessStopped } from '../../base/cancel.ts';
import { GeodeError, reasonOf } from '../../base/errors.ts';
import type { Process } from '../../seams/process.ts';
import { type DriverEventBody, type DriverTurn, stopReason, type TurnEnd } from '../driver.ts';
import { messageText } from '../programs/message-text.ts';
import { actOf } from './acp-acts.ts';
import { type AcpState, noPrompt, withoutProgram } from './acp-state.ts';
import { JournalStream } from './journal-stream.ts';
import { eventBodiesOf, eventBodiesOfCall } from './session-updates.ts';

/** Maximum time to read the output of a killed program. */
const lastWordsMs = 2_000;
/** Maximum time for an agent to confirm a cancel, before it is killed. */
const cancelMs = 10_000;

/**
 * One turn with an ACP agent. Its messages are stored together with their place in its journal, so another host can
 * continue the same prompt. An answer that an earlier host waited for arrives under its old id.
 */
export class AcpConversation implements Disposable {
  readonly #name: string;
  readonly #turn: DriverTurn;
  readonly #process: Process;
  readonly #stream: JournalStream;
  readonly #connection: ClientConnection;
  /** The prompt that an earlier host sent. */
  readonly #earlier: AcpState['prompt'];
  #state: AcpState;
  /** True while a loaded session replays its history, which is already stored. */
  #isLoading = false;
  #isOver = false;
  /** The last request before a session is ready. */
  #asked = '';

  constructor(name: string, turn: DriverTurn, process: Process, state: AcpState, isSent: boolean) {
    this.#name = name;
    this.#turn = turn;
    this.#process = process;
    this.#state = state;
    this.#earlier = isSent ? state.prompt : null;
    const again = state.asked.map(({ id, params }) => {
      return { jsonrpc: '2.0' as const, id, method: 'session/request_permission', params };
    });
    this.#stream = new JournalStream(process, state.process?.offset ?? 0, again, {
      sending: (method, id) => this.#sending(method, id),
      sent: () => {
        const { prompt } = this.#state;
        if (prompt?.isSent === false) this.#keep({ prompt: { ...prompt, isSent: true } });
      },
      answered: (id) => this.#keep({ asked: this.#state.asked.filter((each) => each.id !== id) }),
      limits: turn.sandbox.limits,
      isSilent: () => this.#isOver || stopReason(turn.signal) === 'host-ends',
    });
    this.#connection = client({ name: 'geode' })
      .onNotification('session/update', ({ params }) => {
        if (this.#isLoading || params.sessionId !== this.#state.session) return;
        const { eventBodies, state: after } = eventBodiesOf(params.update, this.#state, turn.isResumed);
        this.#state = after;
        if (eventBodies.length > 0) this.#keep({}, eventBodies);
      })
      .onRequest('session/request_permission', ({ params, requestId }) => this.#ask(params, requestId))
      .connect(this.#stream);
    this.#connection.closed.catch(() => {}); // Waiting requests get the error themselves.
  }

  /** Prepares a new program: loads its known session or starts a new one. */
  async open(cwd: string, mcpServers: McpServer[], beginMs: number): Promise<void> {
    const { agent } = this.#connection;
    const known = this.#state.session;
    const opening = async () => {
      this.#asked = 'initialize';
      const { protocolVersion, agentCapabilities } = await agent.request('initialize', {
        protocolVersion: PROTOCOL_VERSION,
        clientCapabilities: {},
        clientInfo: { name: 'geode', version: '1' },
      });
      if (protocolVersion !== PROTOCOL_VERSION)
        throw unavailable(`The agent uses version ${protocolVersion} of ACP, not ${PROTOCOL_VERSION}.`);
      const canLoad = agentCapabilities?.loadSession === true;
      if (known !== null && canLoad) {
        this.#isLoading = true;
        this.#asked = 'session/load';
        await agent.request('session/load', { sessionId: known, cwd, mcpServers });
        this.#isLoading = false;
        return this.#keep({ canLoad });
      }
      this.#asked = 'session/new';
      const { sessionId } = await agent.request('session/new', { cwd, mcpServers });
      this.#keep({ session: sessionId, canLoad });
    };
    const late = AbortSignal.timeout(beginMs);
    const signal = AbortSignal.any([this.#turn.signal, late]);
    try {
      const opened = await unlessStopped(opening, signal);
      if (opened !== 'stopped') return;
    } catch (error) {
      await this.#kill();
      if (error instanceof GeodeError) throw error;
      throw unavailable(this.#stream.end?.message ?? reasonOf(error));
    }
    if (stopReason(this.#turn.signal) === 'host-ends') throw cancelled('The turn', this.#turn.signal.reason);
    await this.#kill();
    if (!this.#turn.signal.aborted) {
      const { closed } = this.#connection;
      await unlessStopped(() => closed, AbortSignal.timeout(lastWordsMs)).catch(() => {});
      const { words } = this.#stream;
      const wrote = words === '' ? 'It wrote no other output.' : `It wrote: ${words}`;
      throw unavailable(`The agent did not answer ${this.#asked} within ${beginMs / 1000} s. ${wrote}`);
    }
    throw cancelled('The turn', this.#turn.signal.reason);
  }

  /** Sends the message, or waits for the answer to a message that an earlier host sent. */
  async prompt(): Promise<TurnEnd> {
    const { signal } = this.#turn;
    const sessionId = this.#state.session ?? '';
    const prompt: ContentBlock[] = [{ type: 'text', text: messageText(this.#turn) }];
    const asking = this.#connection.agent.request('session/prompt', { sessionId, prompt });
    try {
      const answer = await unlessStopped(() => asking, signal);
      if (answer === 'stopped') return await this.#stop(asking, sessionId);
      const { text } = this.#state;
      this.#keepLast(noPrompt, usageOf(answer.value, this.#name));
      return endOf(answer.value, text);
    } catch (error) {
      if (signal.aborted) throw error;
      if (this.#stream.end !== undefined) {
        this.#turn.keepLast([], withoutProgram(this.#state));
        throw this.#stream.end;
      }
      this.#keepLast(noPrompt);
      throw new GeodeError('agent_failed', reasonOf(error), { cause: error });
    }
  }

  /** Leaves the program running. */
  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#connection.close();
    this.#stream.close();
  }

  /** If the host exits, the program keeps running. Otherwise it is cancelled, its last output is read, and it is killed. */
  async #stop(asking: Promise<unknown>, sessionId: string): Promise<never> {
    const { signal } = this.#turn;
    if (stopReason(signal) === 'host-ends') throw cancelled('The turn', signal.reason);
    await this.#connection.agent.notify('session/cancel', { sessionId }).catch(() => {});
    await unlessStopped(() => asking, AbortSignal.timeout(cancelMs)).catch(() => {});
    await this.#kill();
    throw cancelled('The turn', signal.reason);
  }

  async #kill(): Promise<void> {
    this.#isOver = true;
    await this.#process.kill().catch(() => {});
    this.#turn.keep([], withoutProgram(this.#state));
  }

  #sending(method: string, id: string | number | null): string | number | null | undefined {
    if (method !== 'session/prompt') return undefined;
    if (this.#earlier !== null) return this.#earlier.id;
    this.#keep({ prompt: { turn: this.#turn.turn, id, isSent: false } });
    return undefined;
  }

  async #ask(
    { toolCall, options }: RequestPermissionRequest,
    id: string | number | null,
  ): Promise<RequestPermissionResponse> {
    const { eventBodies, state } = eventBodiesOfCall({ ...toolCall, status: null }, this.#state, true);
    const call = state.calls[toolCall.toolCallId];
    this.#state = state;
    const asked = this.#state.asked.filter((each) => each.id !== id);
    this.#keep(
      { asked: [...asked, { id, params: { sessionId: state.session, toolCall, options } }] },
      eventBodies,
    );
    const { tool = 'tool', input } = call ?? {};
    const request = { id: String(id), tool, input, act: actOf(toolCall, call) };
    const answer = await this.#turn.ask(request, { signal: this.#connection.signal }).catch(() => undefined);
    if (answer === undefined) return { outcome: { outcome: 'cancelled' } };
    // The host stores permissions for a session, so they mean the same for every agent.
    const kind = answer === 'deny' ? 'reject' : 'allow';
    const chosen =
      options.find((each) => each.kind === `${kind}_once`) ??
      options.find((each) => each.kind.startsWith(kind));
    return {
      outcome:
        chosen === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: chosen.optionId },
    };
  }

  #keep(change: Partial<AcpState>, eventBodies: readonly DriverEventBody[] = []): void {
    this.#turn.keep(eventBodies, this.#changed(change));
  }

  #keepLast(change: Partial<AcpState>, eventBodies: readonly DriverEventBody[] = []): void {
    this.#turn.keepLast(eventBodies, this.#changed(change));
  }

  #changed(change: Partial<AcpState>): AcpState {
    const process = { id: this.#process.id, offset: this.#stream.offset };
    this.#state = { ...this.#state, ...change, process };
    return this.#state;
  }
}

function unavailable(why: string): GeodeError {
  return new GeodeError('agent_unavailable', `The ACP agent did not start. ${why}`, {
    hint: 'Run its command in the sandbox to see its output; docs/agents.md shows agents that work.',
  });
}

const usage = z.object({
  usage: z.object({
    inputTokens: z.number(),
    outputTokens: z.number(),
    cachedReadTokens: z.number().nullish(),
    cachedWriteTokens: z.number().nullish(),
  }),
});

/** Usage that some agents add to their answer. It names no model, so the price is unknown. */
function usageOf(answer: PromptResponse, model: string): readonly DriverEventBody[] {
  const { data } = usage.safeParse(answer);
  if (data === undefined) return [];
  const { inputTokens, outputTokens, cachedReadTokens, cachedWriteTokens } = data.usage;
  const cachedTokens = cachedReadTokens ?? 0;
  const read = inputTokens + cachedTokens + (cachedWriteTokens ?? 0);
  return [{ type: 'usage', model, usage: { inputTokens: read, cachedTokens, outputTokens }, cost: null }];
}

function endOf({ stopReason: why }: PromptResponse, text: string): TurnEnd {
  if (why === 'end_turn') return { outcome: 'done', text };
  if (why === 'max_tokens' || why === 'max_turn_requests') return { outcome: 'limit', text };
  throw new GeodeError(
    'agent_failed',
    why === 'refusal' ? `The model refused to continue: ${text}` : `The agent ended the turn: ${why}.`,
  );
}
