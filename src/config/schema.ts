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

/** A server over stdio in a sandbox of its own, or over HTTP. */
const toolServer = z
  .strictObject({
    command: z.array(z.string().min(1)).min(1).optional().describe('the program and its arguments'),
    image: z.string().min(1).optional().describe('of its sandbox'),
    folders: z
      .array(z.union([folder, z.strictObject({ source: folder, target: folder })]))
      .default([])
      .describe(
        'of this machine, shown to it read-only under the same path or another; below security.mount_roots',
      ),
    env: z.record(z.string(), z.string()).default({}).describe('its environment'),
    allow: z.array(z.string()).default([]).describe('hosts that it may reach; none by default'),
    url: z.url().optional().describe('of a server over HTTP, instead of a command'),
    secret: z
      .string()
      .min(1)
      .optional()
      .describe('name of the secret that is sent to the url as a bearer token: geode secrets set'),
    binding: z
      .string()
      .min(1)
      .optional()
      .describe(
        'instead of a url, a binding that leads to the server: NAME=URL add=header:X-Key, or a known one',
      ),
    tools: z.array(z.string().min(1)).optional().describe('those that it may offer; all by default'),
    users: z
      .array(z.string().min(1))
      .optional()
      .describe('whose sandboxes may use it; of all users by default'),
    timeout: positive.default(60).describe('seconds that one call may take'),
    start_timeout: positive.default(60).describe('seconds until it must have told its tools'),
  })
  .refine(
    ({ command, url, binding }) => [command, url, binding].filter((each) => each !== undefined).length === 1,
    'needs a command, a url or a binding, and only one of them',
  )
  .refine(
    ({ url, secret }) => secret === undefined || url !== undefined,
    'has a secret that only a url can use: a binding has the secret of its own name',
  );

type LimitSetting = 'memory' | 'cpus' | 'pids' | 'disk' | 'open_files';
const limitSettings: readonly (readonly [LimitSetting, keyof typeof defaultLimits])[] = [
  ['memory', 'memoryBytes'],
  ['cpus', 'cpus'],
  ['pids', 'pids'],
  ['disk', 'diskBytes'],
  ['open_files', 'openFiles'],
];

/** Sandboxes that name no limit would exceed such a maximum. */
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
      message: `is below the default of a sandbox, ${defaultLimits[name]}: set sandbox.${setting} to at most the same`,
    });
  }
}

/** The whole config: one section a part, every key with its meaning and default. Unknown keys are refused. */
export function configSchema(host: Machine) {
  return z.strictObject({
    runtime: z
      .strictObject({
        name: z
          .enum(['auto', ...runtimeNames])
          .default('auto')
          .describe('auto takes the strongest that works; never native'),
        allow_fallback_to_native: z
          .boolean()
          .default(false)
          .describe('run without isolation when nothing else works'),
      })
      .prefault({}),
    docker: z
      .strictObject({
        host: z
          .string()
          .default(host.dockerHost ?? 'unix:///var/run/docker.sock')
          .describe('Docker or Podman: unix:///socket, tcp://host:port or ssh://user@host[:port][/socket]'),
        tls_ca: folder
          .optional()
          .describe('file of the authority that signed the certificate at tcp://; PEM'),
        tls_cert: folder.optional().describe('file of our certificate for tcp://; PEM'),
        tls_key: folder.optional().describe('file of its key; PEM'),
        ssh_config: folder.optional().describe("configuration file for ssh://, instead of the user's own"),
        image: z.string().min(1).default('alpine:3.22').describe('image of sandboxes that name none'),
        oci_runtime: z.string().min(1).optional().describe('runsc, kata, crun, … as the engine knows it'),
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
        image: z.string().min(1).default('alpine:3.22').describe('image of sandboxes that name none'),
      })
      .prefault({}),
    apple: z
      .strictObject({
        program: z.string().min(1).default('container').describe("Apple's container program"),
        image: z.string().min(1).default('alpine:3.22').describe('image of sandboxes that name none'),
      })
      .prefault({}),
    sandbox: z
      .strictObject({
        state_dir: folder.default(host.stateDir).describe('records, workspaces and journals'),
        run_dir: folder.default(host.runDir).describe('sockets; 45 bytes at most'),
        first_uid: z
          .number()
          .int()
          .min(1_000)
          .max(2_000_000_000)
          .nullable()
          .default(1_900_000)
          .describe('first of the users that sandboxes of a root host run as, one each; null: all share one'),
        uids: positive.int().max(1_000_000).default(65_536).describe('how many such users there are'),
        memory: size.nullable().optional().describe('"512m", "2g"; null: no limit'),
        cpus: positive.nullable().optional().describe('may be a fraction; null: no limit'),
        pids: positive.int().nullable().optional().describe('processes; null: no limit'),
        disk: size.nullable().optional().describe('of the workspace: "10g"; null: no limit'),
        open_files: positive.int().nullable().optional().describe('open files of a process; null: no limit'),
        max_memory: size
          .nullable()
          .default(defaultMostLimits.memoryBytes)
          .describe('most memory that a caller without the scope admin may ask for: "4g"; null: no maximum'),
        max_cpus: positive
          .nullable()
          .default(defaultMostLimits.cpus)
          .describe('most CPUs that such a caller may ask for; null: no maximum'),
        max_pids: positive
          .int()
          .nullable()
          .default(defaultMostLimits.pids)
          .describe('most processes that such a caller may ask for; null: no maximum'),
        max_disk: size
          .nullable()
          .default(defaultMostLimits.diskBytes)
          .describe('largest workspace that such a caller may ask for: "64g"; null: no maximum'),
        max_open_files: positive
          .int()
          .nullable()
          .default(defaultMostLimits.openFiles)
          .describe('most open files of a process that such a caller may ask for; null: no maximum'),
        most: positive.int().default(64).describe('sandboxes of chats that may run at once'),
        most_per_user: positive.int().default(16).describe('of these, of one user'),
        idle_timeout: positive
          .nullable()
          .default(1800)
          .describe('seconds after its last activity when a sandbox is stopped; null: never'),
        remove_after: positive
          .nullable()
          .default(null)
          .describe('seconds after its last activity when it is removed, files and all; null: never'),
        journals: size
          .nullable()
          .default(4 * 1024 ** 3)
          .describe(
            'what ended processes of one user wrote, in all sandboxes; the oldest go first; null: no limit',
          ),
        sweep_every: positive.default(60).describe('seconds between two looks at what is idle'),
        lease: positive.default(86_400).describe('seconds that a sandbox goes on without any host'),
        ready: count.default(1).describe('blank sandboxes kept ready for new chats'),
        linger: count
          .default(60)
          .describe('seconds that the host of commands stays after the last; 0: each command is its own'),
      })
      .superRefine(refuseMaximaBelowDefaults)
      .prefault({}),
    memory: z
      .strictObject({
        file: folder
          .default(join(host.stateDir, 'memory.db'))
          .describe('the SQLite file that holds the truth'),
        index: z.enum(['embedded', 'qdrant']).default('embedded').describe('where search happens'),
        embedder: z
          .enum(['local', 'openai', 'ollama'])
          .default('local')
          .describe('who turns text into vectors'),
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
          .describe('of the vectors; openai and ollama need it'),
        base_url: z
          .url()
          .optional()
          .describe("the embedder's address, for openai-compatible services and ollama"),
        api_key: z.string().min(1).optional().describe("the embedder's key"),
        model_dir: folder.default(join(host.cacheDir, 'models')).describe('where local models are kept'),
        pending_text: size
          .default(256 * 2 ** 20)
          .describe('text of one user that may wait to be indexed: "256m"; more is refused until it is done'),
      })
      .prefault({}),
    qdrant: z
      .strictObject({
        url: z.url().default('http://127.0.0.1:6333').describe('with memory.index "qdrant"'),
        api_key: z.string().min(1).optional().describe("Qdrant's key"),
        collection: z.string().min(1).optional().describe('begins the names of the collections'),
        replicas: z.number().int().positive().optional().describe('copies of each shard in a cluster'),
      })
      .prefault({}),
    gateway: z
      .strictObject({
        host: z.string().min(1).default('127.0.0.1').describe('the address to listen on'),
        port: z.number().int().min(0).max(65_535).default(4430).describe('the port; 0 takes a free one'),
        auth: z.enum(['keys', 'off']).default('keys').describe('off is refused on a public address'),
        keys_file: folder.default(join(host.stateDir, 'keys.db')).describe('the hashes of the API keys'),
        allowed_hosts: z
          .array(z.string())
          .default([])
          .describe('host names in URLs, beside localhost and addresses'),
        allowed_origins: z.array(z.string()).default([]).describe('pages of other origins that may call'),
        rate: positive
          .default(100)
          .describe('requests a second of one key; ten times as many may come at once'),
        scope_rates: z
          .record(z.string(), positive)
          .default({})
          .describe('fewer for what one scope allows: { "memory:write": 20 }'),
        failure_rate: positive.default(0.5).describe('attempts a second with a wrong key from one address'),
        keep_events: positive.int().default(50_000).describe('events that readers can catch up with'),
        sandboxes: z.boolean().default(true).describe('host the sandboxes that stay'),
        log_level: z
          .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
          .default('info')
          .describe('logs go to stderr: JSON, or plain lines at a terminal'),
      })
      .prefault({}),
    e2b: z
      .strictObject({
        templates: z
          .record(z.string().min(1), z.string().min(1))
          .default({})
          .describe('images by the names that E2B\'s SDKs ask for, beside base: { "node": "node:24" }'),
      })
      .prefault({}),
    providers: z
      .strictObject({
        services: z
          .record(
            z.string().regex(/^[a-z0-9][a-z0-9_-]*$/, 'a name has lower-case letters, digits, - and _'),
            z.strictObject({
              kind: z.enum(providerKinds).describe('the wire that it speaks'),
              base_url: z.url().optional().describe('for openai-compatible: Ollama, vLLM, OpenRouter, …'),
              api_key: z.string().min(1).optional().describe('its key'),
              secret: z
                .string()
                .min(1)
                .optional()
                .describe('name of the secret with its key, instead of api_key: geode secrets set'),
            }),
          )
          .default({})
          .describe('where models come from, by a name of your own'),
        default: z.string().min(1).optional().describe('the usual model: SERVICE/MODEL'),
        cheap: z.string().min(1).optional().describe('for reflection and tags; the default one if not set'),
        timeout: positive.default(120).describe('seconds that an answer may take, retries included'),
        retries: count.default(2).describe('tries again after a limit or a failure, as the provider asks'),
        daily_budget: z
          .number()
          .nonnegative()
          .nullable()
          .default(null)
          .describe('US dollars for each user and day (UTC); null: no limit'),
        daily_tokens: count
          .nullable()
          .default(null)
          .describe('tokens for each user and day (UTC), in and out; null: no limit'),
        prices: z
          .record(z.string(), z.strictObject({ input: price, output: price, cached: price.optional() }))
          .default({})
          .describe('US dollars for a million tokens by model, beside and before the known ones'),
      })
      .prefault({}),
    agents: z
      .strictObject({
        driver: driverName
          .default('builtin')
          .describe('who holds a conversation that names nobody: builtin, claude, codex or acp:NAME'),
        model: z
          .string()
          .min(1)
          .optional()
          .describe('of the built-in agent: SERVICE/MODEL; the usual one of `providers` if not set'),
        steps: positive.int().default(50).describe('calls to a model that one turn of it may make'),
        instructions: z.string().min(1).optional().describe('added to what the built-in agent is told'),
        dangerous: z
          .enum(['ask', 'refuse'])
          .default('ask')
          .describe('a command of it that `security.shell` refuses: a person decides, or it does not run'),
        history_tokens: positive
          .int()
          .min(1000)
          .default(100_000)
          .describe('of a conversation that its model is told, about; what is older is summarised'),
        recall_tokens: count
          .default(0)
          .describe('of what memory knows about a message, told with it; 0: the agent looks for itself'),
        allow: z
          .array(z.enum(permissionClasses))
          .default(['reads'])
          .describe('what needs no question: reads, edits (of the workspace), tests (running them)'),
        memory: size
          .nullable()
          .default(2 * 1024 ** 3)
          .describe(
            'of new sandboxes for claude, codex and acp:NAME, where sandbox.memory is less: "2g"; null: no limit',
          ),
        turn_timeout: positive.default(1800).describe('seconds that one turn may take'),
        keep_events: positive.int().default(100_000).describe('events that each conversation keeps'),
      })
      .prefault({}),
    container_agent: z
      .strictObject({
        enabled: z
          .boolean()
          .default(false)
          .describe('the built-in agent runs inside the sandbox of its chat: geode gateway --containerized'),
        image: z
          .string()
          .min(1)
          .default('localhost/geode/agent:latest')
          .describe('of its sandboxes, where the runtime has images: geode image build agent'),
        memory: size
          .nullable()
          .default(1024 ** 3)
          .describe('"1g"; null: no limit'),
        cpus: positive.nullable().default(2).describe('may be a fraction; null: no limit'),
        timeout: positive.default(300).describe('seconds that one turn may take'),
        network: z
          .enum(networks)
          .default('none')
          .describe('the model is reached through the hatch all the same'),
        mounts: z
          .array(z.strictObject({ source: folder, target: folder, writable: z.boolean().default(false) }))
          .default([])
          .describe('folders of this machine that it sees; below security.mount_roots'),
        concurrency: positive.int().default(5).describe('turns at once, instead of chat.concurrency'),
        ready: count.default(1).describe('sandboxes kept ready for new chats'),
        program: folder
          .optional()
          .describe(
            "of the image, of this version; not set: the host's own is shown to the sandbox read-only",
          ),
      })
      .prefault({}),
    solve: z
      .strictObject({
        crystal_days: positive
          .default(90)
          .describe('days after which a crystal that nobody used leaves recall'),
        recall_tokens: count.default(3000).describe('the most that recalled text adds to a prompt, about'),
      })
      .prefault({}),
    claude: z
      .strictObject({
        folder: folder
          .optional()
          .describe('of this machine, with the program claude in it; not set: the image has it'),
        skills: folder
          .optional()
          .describe('of this machine, with a folder for each skill and its SKILL.md in it'),
        upstream: z.url().optional().describe('of the binding anthropic, instead of its own'),
        model: z.string().min(1).optional().describe('a name that Claude Code knows'),
        permissions: z
          .enum(unaskedPermissions)
          .default('edits')
          .describe('what it may do unasked: ask (nothing), edits (change files) or all'),
        allow: z
          .array(z.string().min(1))
          .default([])
          .describe('what it may do besides, as its own rules: "Bash(npm test *)"'),
        idle: positive.default(300).describe('seconds that it waits for another message'),
      })
      .prefault({}),
    codex: z
      .strictObject({
        folder: folder
          .optional()
          .describe('of this machine, with the program bin/codex in it; not set: the image has it'),
        upstream: z.url().optional().describe('of the binding openai, instead of its own'),
        model: z.string().min(1).default('gpt-5').describe('a name that the upstream knows'),
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
                .describe('of this machine, shown at /opt/geode/acp; not set: the image has the program'),
              binding: z.string().min(1).default('anthropic').describe('the binding of its model'),
              upstream: z.url().optional().describe('of that binding, instead of its own'),
              env: z.record(z.string(), z.string()).default({}).describe('variables of the program'),
            }),
          )
          .default({})
          .describe('agents that speak the Agent Client Protocol, by name; used as acp:NAME'),
        idle: positive.default(300).describe('seconds that one waits for another message'),
        begin: positive.default(60).describe('seconds that one may take until it is ready for a message'),
      })
      .prefault({}),
    runs: z
      .strictObject({
        images: z
          .partialRecord(z.enum(languageNames), z.string().min(1))
          .default({})
          .describe('image by language, instead of the pinned ones'),
        pool_floor: count.default(1).describe('sandboxes kept ready of every kind in use'),
        pool_ceiling: count.default(16).describe('sandboxes kept ready at most; 0: none'),
        start_ahead: z
          .boolean()
          .default(true)
          .describe('python and node wait in ready sandboxes, about 4 and 10 MB each'),
        concurrency: positive.int().default(8).describe('runs at once'),
        queue: count.default(256).describe('runs that may wait for their turn'),
        disk: size.nullable().optional().describe('workspace of a run: "1g"; null: no limit'),
        keep: count
          .default(1000)
          .describe('finished runs that can be looked at again, with the first 64 kB of output; 0: none'),
        pull_timeout: positive.default(600).describe('seconds that fetching an image may take'),
      })
      .prefault({}),
    images: z
      .strictObject({
        from: z
          .string()
          .min(1)
          .default('debian:trixie-slim')
          .describe("what Geode's images are built on: Debian, or what is made of it"),
        debian_mirror: z.url().optional().describe('where builds get Debian packages, instead of its own'),
        npm_registry: z.url().optional().describe('where builds get npm packages, instead of the public one'),
        ca_file: folder
          .optional()
          .describe('certificates that builds trust besides, on a network that needs them; PEM'),
        network: z
          .enum(['default', 'host'])
          .default('default')
          .describe("of builds: the engine's usual one, or that of its machine"),
        build_timeout: positive.default(3600).describe('seconds that building an image may take'),
        registries: z
          .array(
            z.string().regex(/^[a-z0-9.-]+(:\d{1,5})?$/, 'is the name of a registry, with a port if need be'),
          )
          .default(['docker.io'])
          .describe(
            'from which callers without the scope admin may have images fetched, beside those of the images in the config',
          ),
        store_size: size
          .default(50 * 1024 ** 3)
          .describe('unpacked images in Geode\'s own store; beyond that the longest unused go: "50g"'),
        pull_size: size.default(8 * 1024 ** 3).describe('largest image that they may have fetched: "8g"'),
        pull_per_day: size
          .default(20 * 1024 ** 3)
          .describe('bytes of images that one user of them may have fetched in a day: "20g"'),
      })
      .prefault({}),
    chat: z
      .strictObject({
        concurrency: positive.int().default(4).describe('turns of agents in chats at once'),
        per_user: positive.int().default(2).describe('of these, of one user'),
        postgres: z
          .url({ protocol: /^postgres(ql)?$/ })
          .optional()
          .describe('messages are kept there, for several gateways: postgres://USER:PASSWORD@HOST/DATABASE'),
        during_turn: z
          .enum(['follow', 'steer'])
          .default('follow')
          .describe('a message that comes during a turn waits for its end, or is heard by it'),
        messages_per_minute: positive.default(30).describe('messages of one sender that are taken'),
        pairing_minutes: positive.default(30).describe('minutes that the code of an unknown sender is good'),
        time_zone: z
          .string()
          .default('UTC')
          .describe('of schedules in chats that name none: "Europe/Berlin"'),
        file_size: size.default(20 * 1024 ** 2).describe('largest file that goes in or out: "20m"'),
      })
      .prefault({}),
    channels: channelsSchema,
    egress: z
      .strictObject({
        allow: z
          .array(z.string())
          .default([])
          .describe('what runs and new sandboxes may reach that name nothing: hosts and presets'),
        deny: z
          .array(z.string())
          .default([])
          .describe('what none of these may reach, whatever else allows it'),
        ask: z
          .boolean()
          .default(false)
          .describe('of these, what no rule decides waits for your answer (geode approvals)'),
        ask_timeout: positive.max(600).default(60).describe('seconds that a connection waits for an answer'),
        secrets_key: folder
          .default(join(host.configDir, 'secrets.key'))
          .describe('the file with the key of the secrets; it is made when the first is set'),
        upstream_ca: folder
          .optional()
          .describe('a PEM file of authorities that the host trusts too when it opens or binds HTTPS'),
        audit_records: positive.int().default(100_000).describe('connections that the audit keeps'),
        audit_days: positive.default(30).describe('days that it keeps them'),
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
          .describe('what a tool session in a sandbox may use that names no tools'),
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
          .describe('MCP servers whose tools sessions may use as NAME__TOOL'),
        call_timeout: positive.default(300).describe('seconds that one call of a tool may take'),
        ask_timeout: positive
          .default(600)
          .describe('seconds that a person has to answer what a tool asks; then it counts as no'),
        schedules: z
          .enum(['ask', 'allow'])
          .default('ask')
          .describe('before a program in a sandbox schedules something: ask a person, or allow it'),
        most_schedules: positive
          .int()
          .default(10)
          .describe('schedules of a chat, from which on a program in its sandbox adds none'),
        rate: positive
          .default(1_000)
          .describe('calls a second of one session; twice as many may come at once'),
        audit_records: positive.int().default(100_000).describe('calls that the audit keeps'),
        audit_days: positive.default(30).describe('days that it keeps them'),
      })
      .prefault({}),
    security: z
      .strictObject({
        shell: z
          .enum(['standard', 'strict', 'permissive'])
          .default('standard')
          .describe('the command policy'),
        shell_programs: z
          .array(z.string())
          .default([...defaultStrictPrograms])
          .describe('what strict lets run'),
        mount_roots: z.array(folder).default([]).describe('folders below which mounts are allowed'),
        writable_mount_roots: z.array(folder).default([]).describe('of these, where mounts may be writable'),
      })
      .prefault({}),
  });
}

export type Config = z.infer<ReturnType<typeof configSchema>>;

/** Turns the first thing that is wrong into a refusal that names it, with the nearest known name. */
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
