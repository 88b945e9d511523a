/** The tools of a session for an agent on the host: the same protocol and rules, without a socket. */
import type { Duplex } from 'node:stream';
import { Client } from '@modelcontextprotocol/client';
import type { Cancel } from '../../base/cancel.ts';
import type { ToolConnection } from '../../seams/tools.ts';
import { LineTransport } from './line-transport.ts';

/** The session has its own deadline for each call, longer if a person answers. */
const longestCallMs = 24 * 3_600_000;

export async function connectFromHost(
  stream: Duplex,
  version: string,
  { signal }: Cancel,
): Promise<ToolConnection> {
  const client = new Client({ name: 'geode-agent', version });
  const cancel = signal ? { signal } : {};
  await client.connect(new LineTransport(stream), cancel);
  const { tools } = await client.listTools(undefined, cancel);
  return {
    tools: tools.map(({ name, description = '', inputSchema }) => ({
      name,
      description,
      input: inputSchema,
    })),
    async call(name, input, { signal: given } = {}) {
      const { content, isError = false } = await client.callTool(
        { name, arguments: { ...input } },
        { ...(given && { signal: given }), timeout: longestCallMs },
      );
      return { text: content.map(textOf).join('\n'), failed: isError };
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      stream.destroy();
    },
  };
}

/** Text blocks as text; others as `[type]`. */
function textOf(block: { readonly type: string; readonly text?: unknown }): string {
  return typeof block.text === 'string' ? block.text : `[${block.type}]`;
}
