/** MCP over stdio, until the client closes its end or the signal fires. */
import type { Readable, Writable } from 'node:stream';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { GeodeClient } from '../client/client.ts';
import { createMcpServer } from './server.ts';

export interface StdioOptions {
  readonly version: string;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly signal: AbortSignal;
  /** Receives errors outside of calls, such as a line that is not JSON. */
  readonly onError: (error: Error) => void;
}

export async function serveMcpOverStdio(client: GeodeClient, options: StdioOptions): Promise<void> {
  const { version, stdin, stdout, signal, onError } = options;
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const transport = new StdioServerTransport(stdin, stdout);
  const server = serveStdio(() => createMcpServer(client, version), { transport, onerror: onError });
  for (const event of ['end', 'close', 'error']) stdin.once(event, () => resolve());
  signal.addEventListener('abort', () => resolve(), { once: true });
  if (signal.aborted) resolve();
  await over;
  await server.close();
}
