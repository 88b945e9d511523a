/** Geode's own server with what the public conformance suite asks for besides: tools, prompts and resources of fixed content. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type CallToolResult,
  completable,
  type ElicitRequestFormParams,
  type McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { GeodeClient } from '../../src/client/client.ts';
import { createMcpServer } from '../../src/mcp/server.ts';
import { addInputTools, inputOptions } from './conformance-inputs.ts';

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const wav = Buffer.from('RIFF\x24\0\0\0WAVEfmt ', 'latin1').toString('base64');
const pauseMs = 50;

export function conformanceServer(client: GeodeClient, version: string): McpServer {
  const server = createMcpServer(client, version, inputOptions);
  server.server.registerCapabilities({ logging: {}, resources: { subscribe: true }, completions: {} });
  addContentTools(server);
  addTalkingTools(server);
  addResources(server);
  addPrompts(server);
  addInputTools(server);
  return server;
}

const say = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

function addContentTools(server: McpServer): void {
  const fixed: Readonly<Record<string, CallToolResult['content']>> = {
    test_simple_text: [{ type: 'text', text: 'This is a simple text response for testing.' }],
    test_image_content: [{ type: 'image', data: png, mimeType: 'image/png' }],
    test_audio_content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }],
    test_embedded_resource: [
      {
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      },
    ],
    test_multiple_content_types: [
      { type: 'text', text: 'Multiple content types test:' },
      { type: 'image', data: png, mimeType: 'image/png' },
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: JSON.stringify({ test: 'data', value: 123 }),
        },
      },
    ],
  };
  for (const [name, content] of Object.entries(fixed))
    server.registerTool(name, { description: `Gives fixed content: ${name}` }, () => ({ content }));
  server.registerTool('test_error_handling', { description: 'Always fails' }, () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
}

function addTalkingTools(server: McpServer): void {
  server.registerTool('test_tool_with_logging', { description: 'Logs' }, async ({ mcpReq }) => {
    await mcpReq.log('info', 'Tool execution started');
    await delay(pauseMs);
    await mcpReq.log('info', 'Tool processing data');
    await delay(pauseMs);
    await mcpReq.log('info', 'Tool execution completed');
    return say('logged');
  });
  server.registerTool('test_tool_with_progress', { description: 'Tells progress' }, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 100 },
        });
      await delay(pauseMs);
    }
    return say('done');
  });
  server.registerTool(
    'test_sampling',
    { description: 'Asks the model of the client', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const { content } = await mcpReq.requestSampling(
        { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100 },
        inStreamOf(mcpReq),
      );
      return say(`LLM response: ${JSON.stringify(content)}`);
    },
  );
  server.registerTool(
    'test_elicitation',
    { description: 'Asks the person', inputSchema: z.object({ message: z.string() }) },
    async ({ message }, { mcpReq }) => {
      const { action, content } = await mcpReq.elicitInput(
        { message, requestedSchema: contactSchema },
        inStreamOf(mcpReq),
      );
      return say(`User response: action=${action}, content=${JSON.stringify(content)}`);
    },
  );
  const forms = {
    test_elicitation_sep1034_defaults: defaultsSchema,
    test_elicitation_sep1330_enums: enumsSchema,
  };
  for (const [name, requestedSchema] of Object.entries(forms)) {
    server.registerTool(name, { description: 'Asks the person' }, async ({ mcpReq }) => {
      const { action, content } = await mcpReq.elicitInput(
        { message: 'Please fill this in', requestedSchema },
        inStreamOf(mcpReq),
      );
      return say(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`);
    });
  }
}

type Form = ElicitRequestFormParams['requestedSchema'];

const contactSchema: Form = {
  type: 'object',
  properties: {
    username: { type: 'string', description: "User's response" },
    email: { type: 'string', description: "User's email address" },
  },
  required: ['username', 'email'],
};

const defaultsSchema: Form = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
};

const options = ['option1', 'option2', 'option3'];
const titled = (noun: string) =>
  ['First', 'Second', 'Third'].map((word, index) => ({
    const: `value${index + 1}`,
    title: `${word} ${noun}`,
  }));
const enumsSchema: Form = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: options },
    titledSingle: { type: 'string', oneOf: titled('Option') },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
    titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
  },
};

function addResources(server: McpServer): void {
  const of = (uri: URL, mimeType: string, content: { text: string } | { blob: string }) => ({
    contents: [{ uri: uri.href, mimeType, ...content }],
  });
  server.registerResource(
    'static-text',
    'test://static-text',
    { description: 'Text', mimeType: 'text/plain' },
    (uri) => of(uri, 'text/plain', { text: 'This is the content of the static text resource.' }),
  );
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { description: 'An image', mimeType: 'image/png' },
    (uri) => of(uri, 'image/png', { blob: png }),
  );
  server.registerResource(
    'watched-resource',
    'test://watched-resource',
    { description: 'Can be watched', mimeType: 'text/plain' },
    (uri) => of(uri, 'text/plain', { text: 'watched' }),
  );
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'By id', mimeType: 'application/json' },
    (uri, { id }) =>
      of(uri, 'application/json', {
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
      }),
  );
  server.server.setRequestHandler('resources/subscribe', () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', () => ({}));
}

function addPrompts(server: McpServer): void {
  const user = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } });
  server.registerPrompt('test_simple_prompt', { description: 'A simple prompt' }, () => ({
    messages: [user('This is a simple prompt for testing.')],
  }));
  const completed = completable(z.string(), (value) =>
    ['paris', 'park', 'party'].filter((word) => word.startsWith(value)),
  );
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'With arguments', argsSchema: z.object({ arg1: completed, arg2: z.string() }) },
    ({ arg1, arg2 }) => ({ messages: [user(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'With a resource', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri: uri }) => ({
      messages: [
        {
          role: 'user',
          content: {
            type: 'resource',
            resource: { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
          },
        },
        user('Please process the embedded resource above.'),
      ],
    }),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'With an image' }, () => ({
    messages: [
      { role: 'user', content: { type: 'image', data: png, mimeType: 'image/png' } },
      user('Please analyze the image above.'),
    ],
  }));
}

/** A question goes with the answer to the call: the stream for news may not be open yet, and would lose it. */
function inStreamOf({ id }: { readonly id: string | number }) {
  return { relatedRequestId: id };
}
