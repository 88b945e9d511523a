/**
 * A language model of any provider. Callers know neither the provider, its API nor the key.
 *
 * Models charge by the token, so every answer reports its usage, even a refused or interrupted one. A failure is a
 * `GeodeError`: `provider_refused`, `provider_limited`, `provider_failed`, `provider_unreachable`, `budget_spent`,
 * `timed_out` or `cancelled`.
 */
import type { ZodType } from 'zod';
import type { Cancel } from '../base/cancel.ts';
import type { TokenUsage } from '../base/prices.ts';

/** API formats of providers. */
export const providerKinds = ['anthropic', 'openai', 'openai-compatible'] as const;
export type ProviderKind = (typeof providerKinds)[number];

export type ModelMessage =
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly text: string; readonly calls?: readonly ToolCall[] | undefined }
  /** The results of the calls in the previous message, one for each call. */
  | { readonly role: 'tool'; readonly results: readonly ToolResult[] };

/** A tool that a model may request. The caller runs it and checks the input. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  /** A zod schema, or JSON Schema for a tool from elsewhere. */
  readonly input: ZodType | JsonSchema;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface ToolCall {
  readonly id: string;
  readonly tool: string;
  /** As the model wrote it, not checked against the tool's schema; text if it is not JSON. */
  readonly input: unknown;
}

export interface ToolResult {
  readonly id: string;
  readonly tool: string;
  readonly output: string;
  readonly failed: boolean;
}

export interface ModelRequest {
  /** The user who pays: budgets and usage are counted by user. */
  readonly user: string;
  /** Instructions that have priority over the messages. */
  readonly instructions?: string;
  readonly messages: readonly ModelMessage[];
  /** Asks for JSON in this format. `parseAnswer` checks the text; this call does not. */
  readonly shape?: ZodType;
  readonly tools?: readonly ModelTool[];
  readonly maxOutputTokens?: number;
}

/** Why the model stopped: it finished, it calls tools, it reached a limit, it declined, or another reason. */
export type ModelFinish = 'stop' | 'calls' | 'length' | 'refused' | 'other';

export interface ModelAnswer {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly finish: ModelFinish;
  readonly usage: TokenUsage;
  /** In US dollars; null if the price of the model is unknown. */
  readonly cost: number | null;
}

export type ModelEvent =
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'thinking-delta'; readonly text: string }
  /** The connection broke: the text of this answer so far is void and will be sent again. */
  | { readonly type: 'restart' }
  /** The last event of every answer that did not fail. */
  | ({ readonly type: 'answer' } & ModelAnswer);

export interface Model {
  /** `SERVICE/MODEL`, as in the config. */
  readonly id: string;
  /** Leaving the loop ends the call. */
  stream(request: ModelRequest, options?: Cancel): AsyncGenerator<ModelEvent>;
  /** The folded result of the stream. */
  ask(request: ModelRequest, options?: Cancel): Promise<ModelAnswer>;
}

/** The models of the config, by role or by name. */
export interface Models {
  /** `default`, `cheap` (falls back to `default`), or `SERVICE/MODEL`. Throws `no_provider` or `invalid_config`. */
  get(name?: string): Model;
}
