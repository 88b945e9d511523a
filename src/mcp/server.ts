/**
 * Geode as an MCP server for one user. Everything goes through the API's client, so what the API refuses that user is
 * refused here too, over stdio and HTTP.
 */
import { McpServer, type ServerOptions } from '@modelcontextprotocol/server';
import type { GeodeClient } from '../client/client.ts';
import type { Tool } from './tool.ts';
import { contextTools } from './tools/contexts.ts';
import { execTools } from './tools/exec.ts';
import { fileTools } from './tools/files.ts';
import { memorySearch } from './tools/memory-search.ts';
import { memoryStore } from './tools/memory-store.ts';
import { runCode } from './tools/run-code.ts';
import { sandboxTools } from './tools/sandboxes.ts';
import { snapshotTools } from './tools/snapshots.ts';
import { solve } from './tools/solve.ts';

const tools: readonly Tool[] = [
  ...sandboxTools,
  ...execTools,
  ...fileTools,
  runCode,
  ...contextTools,
  memorySearch,
  memoryStore,
  ...snapshotTools,
  solve,
];

const instructions =
  'Geode provides sealed sandboxes on the user’s own machine. run_code runs a program once and keeps nothing. sandbox_create creates a persistent sandbox for a chat; exec and the file and snapshot tools work in it. memory_search and memory_store share knowledge between chats.';

/** The tools are the same while it runs. */
const capabilities = { tools: { listChanged: false } };

export function createMcpServer(
  client: GeodeClient,
  version: string,
  options: ServerOptions = {},
): McpServer {
  const server = new McpServer(
    { name: 'geode', title: 'Geode', version },
    { instructions, capabilities, ...options },
  );
  for (const tool of tools) {
    tool.add(server, ({ signal, progress }, work) => work({ client, signal, progress }));
  }
  return server;
}
