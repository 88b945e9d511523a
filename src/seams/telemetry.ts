/**
 * Traces of a host, for an OpenTelemetry collector. A host has none until it has an address for them: in the section
 * `telemetry` of its config, or in the variable OTEL_EXPORTER_OTLP_ENDPOINT.
 *
 * Spans hold names, ids, numbers and durations: never the text of messages, code, commands' arguments, output, or
 * secrets. Nothing here waits for the collector or throws because of it.
 */
import type { Duplex } from 'node:stream';
import type { Sample } from '../base/metrics-text.ts';
import type { Span, SpanContext, SpanOptions } from '../base/spans.ts';

interface RootOptions extends SpanOptions {
  /** The span of a trusted caller: this one becomes part of its trace. */
  readonly parent?: SpanContext | undefined;
}

/** The sandbox whose spans are relayed. */
export interface RelayOwner {
  readonly sandboxId: string;
  readonly user: string;
  readonly chat?: string | undefined;
}

/** Serves the address in one sandbox that accepts OTLP. */
export interface TelemetryRelay extends Disposable {
  accept(client: Duplex): void;
}

export interface Telemetry extends AsyncDisposable {
  /** The address of the collector. */
  readonly url: string;
  /** Starts a span that is not a part of the current one. */
  root(name: string, options?: RootOptions): Span;
  /** Makes the span of a running turn known to work that begins outside of it, such as requests of its sandbox. */
  enterTurn(user: string, chat: string, span: Span): Disposable;
  turnOf(user: string, chat: string | undefined): Span | undefined;
  /** `secrets`: values that relayed spans must not show. `note` receives each request. */
  relay(
    owner: RelayOwner,
    options: {
      readonly secrets: () => readonly string[];
      readonly note: (request: RelayedRequest) => void;
    },
  ): TelemetryRelay;
  /** Counts of spans by source and outcome. */
  samples(): readonly Sample[];
}

export interface RelayedRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly bytesIn: number;
}
