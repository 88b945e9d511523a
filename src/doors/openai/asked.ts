/** Requests of both endpoints in one form. */
import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import { type Content, contentSchema } from './content.ts';

/** One message of the history. */
export interface Said {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: Content;
}

export interface Asked {
  readonly model: string;
  readonly said: readonly Said[];
  readonly streams: boolean;
  /** Separates equal histories of different people. */
  readonly person: string | undefined;
  /** The chat that the body names. */
  readonly conversation: string | undefined;
  readonly previousResponse: string | undefined;
}

const yes = z.boolean().nullish();
const words = z.string().nullish();
const messageSchema = z.object({ role: z.string(), content: contentSchema });

const chatBody = z.object({
  model: z.string(),
  messages: z.array(messageSchema).min(1),
  stream: yes,
  stream_options: z.object({ include_usage: yes }).nullish(),
  user: words,
  safety_identifier: words,
  n: z.number().nullish(),
  logprobs: yes,
  modalities: z.array(z.string()).nullish(),
  response_format: z.object({ type: z.string() }).nullish(),
});

const itemSchema = z.object({ type: z.string().nullish(), role: words, content: contentSchema });
const responseBody = z.object({
  model: z.string(),
  input: z.union([z.string(), z.array(itemSchema)]),
  instructions: words,
  stream: yes,
  background: yes,
  user: words,
  safety_identifier: words,
  previous_response_id: words,
  conversation: z.union([z.string(), z.object({ id: z.string() })]).nullish(),
  text: z.object({ format: z.object({ type: z.string() }).nullish() }).nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
});

export const chatRequest = chatBody.transform((body): Asked & { includesUsage: boolean } => {
  const { n, logprobs, modalities, response_format: format } = body;
  refuseIf(n !== undefined && n !== null && n !== 1, 'n', 'An agent gives one answer.');
  refuseIf(logprobs === true, 'logprobs', 'An agent has no log probabilities.');
  refuseIf(modalities?.includes('audio') ?? false, 'modalities', 'An agent answers with text.');
  refuseFormat(format?.type, 'response_format');
  return {
    model: body.model,
    said: body.messages.flatMap(saidOf),
    streams: body.stream ?? false,
    person: body.safety_identifier ?? body.user ?? undefined,
    conversation: undefined,
    previousResponse: undefined,
    includesUsage: body.stream_options?.include_usage ?? false,
  };
});

export type ResponseAsked = z.output<typeof responseRequest>;

export const responseRequest = responseBody.transform((body) => {
  const { input, instructions, conversation } = body;
  refuseIf(body.background === true, 'background', 'A response ends with its request.');
  refuseFormat(body.text?.format?.type, 'text.format');
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  const system = instructions ? [{ role: 'system' as const, content: instructions }] : [];
  return {
    model: body.model,
    said: [...system, ...items.flatMap(saidOf)],
    streams: body.stream ?? false,
    person: body.safety_identifier ?? body.user ?? undefined,
    conversation: typeof conversation === 'string' ? conversation : conversation?.id,
    previousResponse: body.previous_response_id ?? undefined,
    instructions: instructions ?? null,
    metadata: body.metadata ?? {},
  };
});

/** Leaves out tool results and reasoning: the agent's own tools ran in its sandbox. */
function saidOf({ role, content }: z.infer<typeof itemSchema>): readonly Said[] {
  if (role === 'developer') return [{ role: 'system', content }];
  if (role === 'user' || role === 'assistant' || role === 'system') return [{ role, content }];
  return [];
}

function refuseFormat(type: string | undefined, field: string): void {
  refuseIf(
    type !== undefined && type !== 'text',
    field,
    'An agent answers with text, not in a given format.',
  );
}

function refuseIf(isAsked: boolean, field: string, reason: string): void {
  if (isAsked) throw new GeodeError('invalid_input', `${field}: ${reason}`, { details: { param: field } });
}
