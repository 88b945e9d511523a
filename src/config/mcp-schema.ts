import { z } from 'zod';
import { folder, positive } from './setting-types.ts';

/** A server over stdio in its own sandbox, or over HTTP. */
const toolServer = z
  .strictObject({
    command: z.array(z.string().min(1)).min(1).optional().describe('the program and its arguments'),
    image: z.string().min(1).optional().describe('image of its sandbox'),
    folders: z
      .array(z.union([folder, z.strictObject({ source: folder, target: folder })]))
      .default([])
      .describe(
        'folders of this machine to mount read-only, under the same path or another; below security.mount_roots',
      ),
    env: z.record(z.string(), z.string()).default({}).describe('environment variables'),
    allow: z.array(z.string()).default([]).describe('allowed hosts (default: none)'),
    url: z.url().optional().describe('URL of an HTTP server, instead of a command'),
    secret: z
      .string()
      .min(1)
      .optional()
      .describe('secret to send to the url as a bearer token: geode secrets set'),
    binding: z
      .string()
      .min(1)
      .optional()
      .describe('instead of a url, a binding for the server: NAME=URL add=header:X-Key, or a known one'),
    tools: z.array(z.string().min(1)).optional().describe('tools to offer (default: all)'),
    users: z.array(z.string().min(1)).optional().describe('users whose sandboxes may use it (default: all)'),
    timeout: positive.default(60).describe('timeout of one call in seconds'),
    start_timeout: positive.default(60).describe('seconds within which it must list its tools'),
  })
  .refine(
    ({ command, url, binding }) => [command, url, binding].filter((each) => each !== undefined).length === 1,
    'needs a command, a url or a binding, and only one of them',
  )
  .refine(
    ({ url, secret }) => secret === undefined || url !== undefined,
    'has a secret, which only works with a url: a binding uses the secret with its own name',
  );

export const mcpSettings = z
  .strictObject({
    tools: z
      .array(z.string().min(1))
      .default([
        'memory_search',
        'memory_store',
        'run_code',
        'ask_person',
        'list_resources',
        'read_resource',
        'schedule_add',
        'schedule_list',
        'schedule_remove',
      ])
      .describe('default tools of a tool session'),
    servers: z
      .record(
        z
          .string()
          .regex(/^[a-z0-9](?:[a-z0-9-]|_(?!_)){0,31}$/, 'a name has lower-case letters, digits, - and _'),
        toolServer,
      )
      .default({})
      .describe('MCP servers; sessions use their tools as NAME__TOOL'),
    call_timeout: positive.default(300).describe('timeout of one tool call in seconds'),
    ask_timeout: positive.default(600).describe("seconds to answer a tool's question; then it counts as no"),
    schedules: z
      .enum(['ask', 'allow'])
      .default('ask')
      .describe('when a program in a sandbox adds a schedule: ask a person, or allow it'),
    most_schedules: positive
      .int()
      .default(10)
      .describe('maximum schedules of a chat for programs in its sandbox to add one'),
    rate: positive.default(1_000).describe('calls per second of one session; bursts of twice that'),
    audit_records: positive.int().default(100_000).describe('number of calls to keep in the log'),
    audit_days: positive.default(30).describe('days to keep them'),
  })
  .prefault({});
