import { z } from 'zod';
import { permissionClasses, unaskedPermissions } from '../seams/agent.ts';
import { networks } from '../seams/sandbox.ts';
import { acpName, driverName } from './driver-name.ts';
import { count, folder, positive, size } from './setting-types.ts';

export const agentsSettings = z
  .strictObject({
    driver: driverName
      .default('builtin')
      .describe('default agent of conversations: builtin, claude, codex or acp:NAME'),
    model: z
      .string()
      .min(1)
      .optional()
      .describe('model of the built-in agent: SERVICE/MODEL (default: providers.default)'),
    steps: positive.int().default(50).describe('maximum model calls of the built-in agent in one turn'),
    instructions: z.string().min(1).optional().describe('extra instructions for the built-in agent'),
    dangerous: z
      .enum(['ask', 'refuse'])
      .default('ask')
      .describe('commands that `security.shell` refuses: ask a person, or refuse'),
    permissions: z
      .enum(unaskedPermissions)
      .default('all')
      .describe('the built-in agent may do without asking: ask (only read), edits (change files) or all'),
    history_tokens: positive
      .int()
      .min(1000)
      .default(100_000)
      .describe('approximate tokens of history sent to the model; older messages are summarised'),
    recall_tokens: count
      .default(0)
      .describe('approximate tokens of memory sent with a message; 0: the agent searches itself'),
    allow: z
      .array(z.enum(permissionClasses))
      .default(['reads'])
      .describe('allowed without asking: reads, edits (of the workspace), tests (running them)'),
    memory: size
      .nullable()
      .default(2 * 1024 ** 3)
      .describe(
        'memory of new sandboxes for claude, codex and acp:NAME, if sandbox.memory is lower: "2g"; null: no limit',
      ),
    turn_timeout: positive.default(1800).describe('timeout of one turn in seconds'),
    unattended_timeout: positive
      .default(43_200)
      .describe('timeout in seconds of a turn that runs unattended (geode claude -C … --unattended)'),
    keep_events: positive.int().default(100_000).describe('number of events to keep per conversation'),
    keep_recordings: size
      .nullable()
      .default(64 * 1024 ** 2)
      .describe(
        'disk space for recorded answers of models and servers, for geode replay: "64m"; the oldest are deleted; null: none',
      ),
  })
  .prefault({});

export const containerAgentSettings = z
  .strictObject({
    enabled: z
      .boolean()
      .default(false)
      .describe('run the built-in agent inside the sandbox of its chat (geode gateway --containerized)'),
    image: z
      .string()
      .min(1)
      .default('localhost/geode/agent:latest')
      .describe('image of its sandboxes, where the runtime supports images: geode image build agent'),
    memory: size
      .nullable()
      .default(1024 ** 3)
      .describe('memory limit: "1g"; null: no limit'),
    cpus: positive.nullable().default(2).describe('CPU limit, may be a fraction; null: no limit'),
    timeout: positive.default(300).describe('timeout of one turn in seconds'),
    network: z
      .enum(networks)
      .default('none')
      .describe('network of its sandboxes; the model always works through the egress proxy'),
    mounts: z
      .array(z.strictObject({ source: folder, target: folder, writable: z.boolean().default(false) }))
      .default([])
      .describe('folders of this machine to mount, below security.mount_roots'),
    concurrency: positive.int().default(5).describe('maximum turns at once, instead of chat.concurrency'),
    ready: count.default(1).describe('sandboxes kept ready for new chats'),
    program: folder
      .optional()
      .describe("program in the image, in this version; not set: the host's own is mounted read-only"),
  })
  .prefault({});

export const claudeSettings = z
  .strictObject({
    folder: folder
      .optional()
      .describe('folder of this machine with the program claude (default: the image has it)'),
    skills: folder.optional().describe('folder of this machine with one folder per skill (SKILL.md)'),
    upstream: z.url().optional().describe('upstream URL of the binding anthropic'),
    model: z.string().min(1).optional().describe('model name for Claude Code'),
    permissions: z
      .enum(unaskedPermissions)
      .default('edits')
      .describe('allowed without asking: ask (nothing), edits (change files) or all'),
    allow: z
      .array(z.string().min(1))
      .default([])
      .describe('further rules of Claude Code: "Bash(npm test *)"'),
    idle: positive.default(300).describe('idle seconds until its process exits'),
  })
  .prefault({});

export const codexSettings = z
  .strictObject({
    folder: folder
      .optional()
      .describe('folder of this machine with the program bin/codex (default: the image has it)'),
    upstream: z.url().optional().describe('upstream URL of the binding openai'),
    model: z.string().min(1).default('gpt-5').describe('a model name that the upstream knows'),
  })
  .prefault({});

export const acpSettings = z
  .strictObject({
    agents: z
      .record(
        acpName,
        z.strictObject({
          command: z
            .tuple([z.string().min(1)], z.string())
            .describe('the program and its arguments, in the sandbox'),
          folder: folder
            .optional()
            .describe(
              'folder of this machine, mounted at /opt/geode/acp (default: the image has the program)',
            ),
          binding: z.string().min(1).default('anthropic').describe('binding of its model provider'),
          upstream: z.url().optional().describe('upstream URL of that binding'),
          env: z.record(z.string(), z.string()).default({}).describe('environment variables of the program'),
        }),
      )
      .default({})
      .describe('agents that speak the Agent Client Protocol, by name; used as acp:NAME'),
    idle: positive.default(300).describe('idle seconds until its process exits'),
    begin: positive.default(60).describe('startup timeout in seconds'),
  })
  .prefault({});
