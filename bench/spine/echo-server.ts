/** A plain MCP server over stdio with one small tool: what a tool call costs without any wall. */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

serveStdio(() => {
  const server = new McpServer({ name: 'echo', version: '0' });
  const inputSchema = z.strictObject({ text: z.string() });
  server.registerTool('echo', { description: 'Says the same.', inputSchema }, ({ text }) => ({
    content: [{ type: 'text', text: JSON.stringify({ text }) }],
  }));
  return server;
});
