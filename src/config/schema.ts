import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { GeodeError, reasonOf } from '../base/errors.ts';
import type { Machine } from '../machine/machine.ts';
import { permissionClasses, unaskedPermissions } from '../seams/agent.ts';
import { defaultLimits, defaultMostLimits, parseSize } from '../seams/limits.ts';
import { providerKinds } from '../seams/model.ts';
import { languageNames } from '../seams/run.ts';
import { runtimeNames } from '../seams/runtime.ts';
import { networks } from '../seams/sandbox.ts';
import { defaultStrictPrograms } from '../seams/shell-policy.ts';
import { channelsSchema } from './channels-schema.ts';
import { acpName, driverName } from './driver-name.ts';
import { nearest } from './nearest.ts';

const size = z.union([z.string(), z.number()]).transform((value, context) => {
  try {
    return parseSize(value, 'it');
  } catch (error) {
    context.addIssue({ code: 'custom', message: reasonOf(error) });
    return z.NEVER;
  }
});
const folder = z.string().refine(isAbsolute, 'must be an absolute path');
const positive = z.number().positive();
const count = z.number().int().nonnegative();
const price = z.number().nonnegative();

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

type LimitSetting = 'memory' | 'cpus' | 'pids' | 'disk' | 'open_files';
const limitSettings: readonly (readonly [LimitSetting, keyof typeof defaultLimits])[] = [
  ['memory', 'memoryBytes'],
  ['cpus', 'cpus'],
  ['pids', 'pids'],
  ['disk', 'diskBytes'],
  ['open_files', 'openFiles'],
];

/** Sandboxes without a limit of their own would exceed such a maximum. */
function refuseMaximaBelowDefaults(
  section: { readonly [K in LimitSetting | `max_${LimitSetting}`]?: number | null | undefined },
  context: z.RefinementCtx,
): void {
  for (const [setting, name] of limitSettings) {
    const most = section[`max_${setting}`];
    if (most == null || section[setting] !== undefined || most >= defaultLimits[name]) continue;
    context.addIssue({
      code: 'custom',
      path: [`max_${setting}`],
      message: `is below the default of a sandbox, ${defaultLimits[name]}: set sandbox.${setting} to at most this value`,
    });
  }
}

/** The whole config: one section for each part, every key with its meaning and default. Unknown keys are refused. */
export function configSchema(host: Machine) {
  return z.strictObject({
    runtime: z
      .strictObject({
        name: z
          .enum(['auto', ...runtimeNames])
          .default('auto')
          .describe('runtime; auto takes the strongest that works, never native'),
        allow_fallback_to_native: z
          .boolean()
          .default(false)
          .describe('run without isolation if no other runtime works'),
      })
      .prefault({}),
    docker: z
      .strictObject({
        host: z
          .string()
          .default(host.dockerHost ?? 'unix:///var/run/docker.sock')
          .describe('Docker or Podman: unix:///socket, tcp://host:port or ssh://user@host[:port][/socket]'),
        tls_ca: folder.optional().describe('PEM file of the CA for tcp://'),
        tls_cert: folder.optional().describe('PEM file of the client certificate for tcp://'),
        tls_key: folder.optional().describe('PEM file of the client key'),
        ssh_config: folder.optional().describe("ssh configuration file (default: the user's own)"),
        image: z.string().min(1).default('alpine:3.22').describe('default image of sandboxes'),
        oci_runtime: z.string().min(1).optional().describe('engine runtime: runsc, kata, crun, …'),
        link: z.enum(['auto', 'socket', 'stdio']).default('auto').describe('how the guest is reached'),
      })
      .prefault({}),
    oci: z
      .strictObject({
        program: z
          .string()
          .min(1)
          .default('auto')
          .describe('runsc (gVisor), runc or crun, by name or path; auto takes the first that is installed'),
        image: z.string().min(1).default('alpine:3.22').describe('default image of sandboxes'),
      })
      .prefault({}),
    apple: z
      .strictObject({
        program: z.string().min(1).default('container').describe("Apple's container program"),
        image: z.string().min(1).default('alpine:3.22').describe('default image of sandboxes'),
      })
      .prefault({}),
    sandbox: z
      .strictObject({
        state_dir: folder.default(host.stateDir).describe('folder of records, workspaces and journals'),
        run_dir: folder.default(host.runDir).describe('folder of sockets; path of at most 45 bytes'),
        first_uid: z
          .number()
          .int()
          .min(1_000)
          .max(2_000_000_000)
          .nullable()
          .default(1_900_000)
          .describe('first user id for the sandboxes of a root host, one each; null: they share one user'),
        uids: positive.int().max(1_000_000).default(65_536).describe('number of such user ids'),
        memory: size.nullable().optional().describe('memory limit: "512m", "2g"; null: no limit'),
        cpus: positive.nullable().optional().describe('CPU limit, may be a fraction; null: no limit'),
        pids: positive.int().nullable().optional().describe('maximum processes; null: no limit'),
        disk: size.nullable().optional().describe('disk limit of the workspace: "10g"; null: no limit'),
        open_files: positive
          .int()
          .nullable()
          .optional()
          .describe('maximum open files of a process; null: no limit'),
        max_memory: size
          .nullable()
          .default(defaultMostLimits.memoryBytes)
          .describe('highest memory limit without the scope admin: "4g"; null: no maximum'),
        max_cpus: positive
          .nullable()
          .default(defaultMostLimits.cpus)
          .describe('highest CPU limit without the scope admin; null: no maximum'),
        max_pids: positive
          .int()
          .nullable()
          .default(defaultMostLimits.pids)
          .describe('highest process limit without the scope admin; null: no maximum'),
        max_disk: size
          .nullable()
          .default(defaultMostLimits.diskBytes)
          .describe('highest disk limit without the scope admin: "64g"; null: no maximum'),
        max_open_files: positive
          .int()
          .nullable()
          .default(defaultMostLimits.openFiles)
          .describe('highest limit of open files without the scope admin; null: no maximum'),
        most: positive.int().default(64).describe('maximum running sandboxes'),
        most_per_user: positive.int().default(16).describe('maximum running sandboxes of one user'),
        idle_timeout: positive
          .nullable()
          .default(1800)
          .describe('idle seconds until a sandbox is stopped; null: never'),
        remove_after: positive
          .nullable()
          .default(null)
          .describe('idle seconds until a sandbox and its files are removed; null: never'),
        journals: size
          .nullable()
          .default(4 * 1024 ** 3)
          .describe(
            'maximum output of ended processes of one user, across sandboxes; the oldest is removed first; null: no limit',
          ),
        sweep_every: positive.default(60).describe('seconds between two checks for idle sandboxes'),
        lease: positive.default(86_400).describe('seconds that a sandbox keeps running without a host'),
        ready: count.default(1).describe('blank sandboxes kept ready for new chats'),
        linger: count
          .default(60)
          .describe('seconds that the background host stays after the last command; 0: no background host'),
      })
      .superRefine(refuseMaximaBelowDefaults)
      .prefault({}),
    memory: z
      .strictObject({
        file: folder.default(join(host.stateDir, 'memory.db')).describe('SQLite file of the memory'),
        index: z.enum(['embedded', 'qdrant']).default('embedded').describe('the search index'),
        embedder: z
          .enum(['local', 'openai', 'ollama'])
          .default('local')
          .describe('provider of the embedding model'),
        model: z
          .string()
          .min(1)
          .optional()
          .describe("the embedder's model; local: gte-small or all-MiniLM-L6-v2"),
        dimensions: z
          .number()
          .int()
          .positive()
          .optional()
          .describe('dimensions of the vectors; required for openai and ollama'),
        base_url: z
          .url()
          .optional()
          .describe("the embedder's address, for openai-compatible services and ollama"),
        api_key: z.string().min(1).optional().describe("the embedder's key"),
        model_dir: folder.default(join(host.cacheDir, 'models')).describe('where local models are kept'),
        pending_text: size
          .default(256 * 2 ** 20)
          .describe('maximum text of one user that waits for indexing: "256m"; more is refused'),
      })
      .prefault({}),
    qdrant: z
      .strictObject({
        url: z.url().default('http://127.0.0.1:6333').describe('Qdrant address, for memory.index "qdrant"'),
        api_key: z.string().min(1).optional().describe("Qdrant's key"),
        collection: z.string().min(1).optional().describe('prefix of collection names'),
        replicas: z.number().int().positive().optional().describe('copies of each shard in a cluster'),
      })
      .prefault({}),
    gateway: z
      .strictObject({
        host: z.string().min(1).default('127.0.0.1').describe('the address to listen on'),
        port: z.number().int().min(0).max(65_535).default(4430).describe('the port; 0: a free port'),
        auth: z.enum(['keys', 'off']).default('keys').describe('off is refused on a public address'),
        keys_file: folder.default(join(host.stateDir, 'keys.db')).describe('the hashes of the API keys'),
        allowed_hosts: z
          .array(z.string())
          .default([])
          .describe('allowed host names in URLs, besides localhost and IP addresses'),
        allowed_origins: z
          .array(z.string())
          .default([])
          .describe('other origins whose pages may call the API'),
        rate: positive.default(100).describe('requests per second of one key; bursts of ten times that'),
        scope_rates: z
          .record(z.string(), positive)
          .default({})
          .describe('lower rates by scope: { "memory:write": 20 }'),
        failure_rate: positive.default(0.5).describe('failed logins per second from one address'),
        keep_events: positive.int().default(50_000).describe('number of events to keep'),
        sandboxes: z.boolean().default(true).describe('whether this gateway hosts sandboxes'),
        log_level: z
          .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
          .default('info')
          .describe('log format on stderr: JSON, or text on a terminal'),
      })
      .prefault({}),
    e2b: z
      .strictObject({
        templates: z
          .record(z.string().min(1), z.string().min(1))
          .default({})
          .describe('images by E2B template name, besides base: { "node": "node:24" }'),
      })
      .prefault({}),
    providers: z
      .strictObject({
        services: z
          .record(
            z.string().regex(/^[a-z0-9][a-z0-9_-]*$/, 'a name has lower-case letters, digits, - and _'),
            z.strictObject({
              kind: z.enum(providerKinds).describe('API of the provider'),
              base_url: z
                .url()
                .optional()
                .describe('address for openai-compatible: Ollama, vLLM, OpenRouter, …'),
              api_key: z.string().min(1).optional().describe('its key'),
              secret: z
                .string()
                .min(1)
                .optional()
                .describe('secret with the key, instead of api_key: geode secrets set'),
            }),
          )
          .default({})
          .describe('model providers by name'),
        default: z.string().min(1).optional().describe('default model: SERVICE/MODEL'),
        cheap: z
          .string()
          .min(1)
          .optional()
          .describe('cheap model for reflection and tags (default: the default model)'),
        timeout: positive.default(120).describe('timeout of an answer in seconds, retries included'),
        retries: count.default(2).describe('retries after a rate limit or failure'),
        daily_budget: z
          .number()
          .nonnegative()
          .nullable()
          .default(null)
          .describe('budget per user and day (UTC) in US dollars; null: no limit'),
        daily_tokens: count
          .nullable()
          .default(null)
          .describe('maximum tokens per user and day (UTC), in and out; null: no limit'),
        prices: z
          .record(z.string(), z.strictObject({ input: price, output: price, cached: price.optional() }))
          .default({})
          .describe('prices by model in US dollars per million tokens; override known prices'),
      })
      .prefault({}),
    agents: z
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
      })
      .prefault({}),
    container_agent: z
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
      .prefault({}),
    solve: z
      .strictObject({
        crystal_days: positive
          .default(90)
          .describe('days without use after which a crystal is no longer recalled'),
        recall_tokens: count
          .default(3000)
          .describe('approximate maximum tokens of recalled text in a prompt'),
      })
      .prefault({}),
    claude: z
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
      .prefault({}),
    codex: z
      .strictObject({
        folder: folder
          .optional()
          .describe('folder of this machine with the program bin/codex (default: the image has it)'),
        upstream: z.url().optional().describe('upstream URL of the binding openai'),
        model: z.string().min(1).default('gpt-5').describe('a model name that the upstream knows'),
      })
      .prefault({}),
    acp: z
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
              env: z
                .record(z.string(), z.string())
                .default({})
                .describe('environment variables of the program'),
            }),
          )
          .default({})
          .describe('agents that speak the Agent Client Protocol, by name; used as acp:NAME'),
        idle: positive.default(300).describe('idle seconds until its process exits'),
        begin: positive.default(60).describe('startup timeout in seconds'),
      })
      .prefault({}),
    runs: z
      .strictObject({
        images: z
          .partialRecord(z.enum(languageNames), z.string().min(1))
          .default({})
          .describe('images by language; override the pinned ones'),
        pool_floor: count.default(1).describe('minimum sandboxes kept ready of each kind in use'),
        pool_ceiling: count.default(16).describe('maximum sandboxes kept ready; 0: none'),
        start_ahead: z
          .boolean()
          .default(true)
          .describe('start python and node in ready sandboxes (about 4 and 10 MB each)'),
        concurrency: positive.int().default(8).describe('maximum runs at once'),
        queue: count.default(256).describe('maximum waiting runs'),
        disk: size.nullable().optional().describe('disk limit of a run: "1g"; null: no limit'),
        keep: count
          .default(1000)
          .describe('number of finished runs to keep, with the first 64 kB of output; 0: none'),
        pull_timeout: positive.default(600).describe('timeout of an image pull in seconds'),
      })
      .prefault({}),
    images: z
      .strictObject({
        from: z
          .string()
          .min(1)
          .default('debian:trixie-slim')
          .describe("base of Geode's images: Debian, or an image built on it"),
        debian_mirror: z.url().optional().describe('mirror for Debian packages in builds'),
        npm_registry: z.url().optional().describe('npm registry for builds'),
        ca_file: folder.optional().describe('PEM file of additional CAs that builds trust'),
        network: z
          .enum(['default', 'host'])
          .default('default')
          .describe("network of builds: the engine's default, or the machine's"),
        build_timeout: positive.default(3600).describe('timeout of an image build in seconds'),
        registries: z
          .array(
            z.string().regex(/^[a-z0-9.-]+(:\d{1,5})?$/, 'is not a registry name, with an optional port'),
          )
          .default(['docker.io'])
          .describe(
            'registries that callers without the scope admin may pull from, besides those of configured images',
          ),
        store_size: size
          .default(50 * 1024 ** 3)
          .describe(
            'maximum size of Geode\'s own image store; above it the longest unused images are removed: "50g"',
          ),
        pull_size: size.default(8 * 1024 ** 3).describe('largest image that these callers may pull: "8g"'),
        pull_per_day: size
          .default(20 * 1024 ** 3)
          .describe('maximum bytes of images that one of these users may pull in a day: "20g"'),
      })
      .prefault({}),
    chat: z
      .strictObject({
        concurrency: positive.int().default(4).describe('maximum agent turns in chats at once'),
        per_user: positive.int().default(2).describe('maximum agent turns of one user at once'),
        postgres: z
          .url({ protocol: /^postgres(ql)?$/ })
          .optional()
          .describe(
            'PostgreSQL for several gateways that share messages: postgres://USER:PASSWORD@HOST/DATABASE',
          ),
        during_turn: z
          .enum(['follow', 'steer'])
          .default('follow')
          .describe('a message that arrives during a turn waits for its end, or is added to it'),
        messages_per_minute: positive.default(30).describe('maximum messages per minute of one sender'),
        pairing_minutes: positive.default(30).describe('minutes that a pairing code is valid'),
        time_zone: z.string().default('UTC').describe('default time zone of schedules: "Europe/Berlin"'),
        file_size: size.default(20 * 1024 ** 2).describe('largest file to receive or send: "20m"'),
      })
      .prefault({}),
    channels: channelsSchema,
    egress: z
      .strictObject({
        allow: z
          .array(z.string())
          .default([])
          .describe('default network policy of runs and new sandboxes: hosts and presets'),
        deny: z
          .array(z.string())
          .default([])
          .describe('hosts denied by default, even if another rule allows them'),
        ask: z.boolean().default(false).describe('ask you about hosts that no rule covers (geode approvals)'),
        ask_timeout: positive
          .max(600)
          .default(60)
          .describe('seconds that a connection waits for your answer'),
        secrets_key: folder
          .default(join(host.configDir, 'secrets.key'))
          .describe('key file of the secrets; created with the first secret'),
        upstream_ca: folder.optional().describe('PEM file of additional CAs that the host trusts for HTTPS'),
        audit_records: positive.int().default(100_000).describe('number of connections to keep in the log'),
        audit_days: positive.default(30).describe('days to keep them'),
      })
      .prefault({}),
    mcp: z
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
              .regex(
                /^[a-z0-9](?:[a-z0-9-]|_(?!_)){0,31}$/,
                'a name has lower-case letters, digits, - and _',
              ),
            toolServer,
          )
          .default({})
          .describe('MCP servers; sessions use their tools as NAME__TOOL'),
        call_timeout: positive.default(300).describe('timeout of one tool call in seconds'),
        ask_timeout: positive
          .default(600)
          .describe("seconds to answer a tool's question; then it counts as no"),
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
      .prefault({}),
    security: z
      .strictObject({
        shell: z.enum(['standard', 'strict', 'permissive']).default('standard').describe('command policy'),
        shell_programs: z
          .array(z.string())
          .default([...defaultStrictPrograms])
          .describe('commands that strict allows'),
        mount_roots: z.array(folder).default([]).describe('folders below which mounts are allowed'),
        writable_mount_roots: z
          .array(folder)
          .default([])
          .describe('folders of these that may be mounted writable'),
      })
      .prefault({}),
  });
}

export type Config = z.infer<ReturnType<typeof configSchema>>;

/** Throws for the first invalid value, with the nearest known name. */
export function configError(
  error: z.ZodError,
  known: readonly string[],
  whereOf: (path: string) => string,
): GeodeError {
  const [issue] = error.issues;
  const path = issue?.path.join('.') ?? '';
  if (issue?.code === 'unrecognized_keys') {
    const key = [path, issue.keys[0]].filter(Boolean).join('.');
    const near = nearest(key, known);
    return new GeodeError('invalid_config', `There is no setting ${key} (${whereOf(key)}).`, {
      hint: near === undefined ? 'Run `geode config` to see all settings.' : `Did you mean ${near}?`,
    });
  }
  return new GeodeError(
    'invalid_config',
    `${path || 'The config'} (${whereOf(path)}): ${issue?.message ?? 'is not valid'}`,
  );
}
