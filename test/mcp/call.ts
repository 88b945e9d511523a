/** Calls a tool through the SDK's own client, and reads its answer. */
import type { Client } from '@modelcontextprotocol/client';

export interface Answered {
  readonly failed: boolean;
  readonly value: Readonly<Record<string, unknown>>;
}

export async function call(
  client: Client,
  name: string,
  input: Readonly<Record<string, unknown>> = {},
  options: { readonly signal?: AbortSignal } = {},
): Promise<Answered> {
  const { content, isError } = await client.callTool(
    { name, arguments: { ...input } },
    { timeout: 120_000, ...options },
  );
  const [first] = content;
  if (first?.type !== 'text') throw new Error(`${name} gave no text`);
  return { failed: isError === true, value: JSON.parse(first.text) };
}

/** A call that must work. */
export async function done(
  client: Client,
  name: string,
  input?: Readonly<Record<string, unknown>>,
): Promise<Answered['value']> {
  const { failed, value } = await call(client, name, input);
  if (failed) throw new Error(`${name}: ${JSON.stringify(value)}`);
  return value;
}
