import type { ChannelState, ChannelStatus } from '../../seams/channel.ts';

/** The state of a channel, for display. */
export class ChannelHealth {
  readonly #channel: string;
  #state: ChannelState = { state: 'connecting' };
  #lastError: string | null = null;
  #lastMessageAt: number | null = null;

  constructor(channel: string) {
    this.#channel = channel;
  }

  get status(): ChannelStatus {
    return {
      channel: this.#channel,
      state: this.#state.state,
      since: this.#state.state === 'deaf' ? this.#state.since : null,
      lastError: this.#lastError,
      lastMessageAt: this.#lastMessageAt,
    };
  }

  readonly changed = (state: ChannelState): void => {
    this.#state = state;
    if (state.state === 'deaf') this.#lastError = state.reason;
  };

  failed(reason: string): void {
    this.#lastError = reason;
  }

  received(): void {
    this.#lastMessageAt = Date.now();
  }
}
