import { z } from 'zod';
import { configSchema } from '../src/config/schema.ts';
import type { Machine } from '../src/machine/machine.ts';
import { settingExamples } from './setting-examples.ts';

/** A machine whose folders read the same for everyone. */
const somewhere: Machine = {
  platform: 'linux',
  arch: 'x64',
  uid: 1000,
  gid: 1000,
  umask: 0o22,
  user: 'you',
  home: '~',
  path: '/usr/bin:/bin',
  overrides: {},
  environment: {},
  variable: () => undefined,
  dockerHost: undefined,
  configDir: '~/.config/geode',
  stateDir: '~/.local/state/geode',
  dataDir: '~/.local/share/geode',
  cacheDir: '~/.cache/geode',
  runDir: '$XDG_RUNTIME_DIR/geode',
};

const introductions: Readonly<Record<string, string>> = {
  runtime: 'Which runtime isolates sandboxes ([runtimes.md](runtimes.md)).',
  docker: 'Docker or Podman ([runtimes.md](runtimes.md)).',
  oci: 'Images without an engine: gVisor or runc ([runtimes.md](runtimes.md)).',
  apple: "Apple's container program on macOS ([runtimes.md](runtimes.md)).",
  sandbox: 'Limits and life of sandboxes ([sandboxes.md](sandboxes.md)).',
  memory: 'The memory of agents ([memory.md](memory.md)).',
  qdrant: 'The Qdrant server, when `memory.index` is `qdrant`.',
  gateway: 'The HTTP API ([http-api.md](http-api.md)).',
  e2b: "The API for E2B's SDKs ([e2b.md](doors/e2b.md)).",
  providers: 'Model providers, budgets and prices ([models.md](models.md)).',
  agents: 'All agents, and the built-in one ([agents.md](agents.md)).',
  container_agent: 'The built-in agent inside its sandbox ([agents.md](agents.md)).',
  solve: '`geode solve` ([solve.md](solve.md)).',
  claude: 'Claude Code ([agents.md](agents.md)).',
  codex: 'Codex ([agents.md](agents.md)).',
  acp: 'Agents that speak the Agent Client Protocol ([agents.md](agents.md)).',
  runs: '`geode run` and the pool of ready sandboxes ([runs.md](runs.md)).',
  images: 'Building, pulling and storing images ([images.md](images.md)).',
  telemetry: 'Traces for OpenTelemetry ([operate.md](operate.md)).',
  backup: 'Backups ([backup.md](backup.md)).',
  chat: 'Chats and their limits ([gateway.md](gateway.md)).',
  channels: 'Telegram, Discord, Slack and WhatsApp ([gateway.md](gateway.md)).',
  egress: 'The hosts that sandboxes may reach ([egress.md](egress.md)).',
  webhooks: 'Calls of your own server when something happens to a sandbox ([webhooks.md](webhooks.md)).',
  mcp: 'Tools for agents, and your own MCP servers ([mcp.md](mcp.md)).',
  security: 'The command policy and mounts ([sandboxes.md](sandboxes.md)).',
};

/** The part of JSON Schema that zod writes for the config. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema | false;
  readonly anyOf?: readonly Schema[];
}

export interface DocumentedSetting {
  readonly name: string;
  readonly variable: string;
  readonly example: unknown;
}

/** Every setting that a config file or a variable can set. */
export function documentedSettings(): readonly DocumentedSetting[] {
  return Object.entries(sections()).flatMap(([section, { properties = {} }]) =>
    Object.entries(properties).map(([key, schema]) => {
      const name = `${section}.${key}`;
      const example = exampleOf(name, schema);
      if (example === undefined)
        throw new Error(`${name} needs an example: add it to scripts/setting-examples.ts.`);
      return { name, variable: `GEODE_${section}_${key}`.toUpperCase(), example };
    }),
  );
}

/** `docs/configuration.md`, made from the schema of the config. */
export function configurationDocument(): string {
  const settings = new Map(documentedSettings().map((setting) => [setting.name, setting]));
  const defaults = configSchema(somewhere).parse({}) as Readonly<
    Record<string, Readonly<Record<string, unknown>>>
  >;
  const parts = Object.entries(sections()).map(([section, { properties = {} }]) => {
    const introduction = introductions[section];
    if (introduction === undefined)
      throw new Error(`Section ${section} needs a sentence in scripts/configuration-document.ts.`);
    const rows = Object.entries(properties).flatMap(([key, schema]) => {
      const setting = settings.get(`${section}.${key}`);
      if (setting === undefined) return [];
      const value = defaults[section]?.[key];
      const first = [
        `\`${setting.name}\`<br>\`${setting.variable}\``,
        sentence(schema),
        shownDefault(value, schema),
        code(setting.example),
      ];
      return [row(first), ...fieldsOf(setting.name, schema).map(row)];
    });
    return [
      `## ${section}`,
      '',
      introduction,
      '',
      '| setting and variable | meaning | default | example |',
      '| --- | --- | --- | --- |',
      ...rows,
      '',
    ];
  });
  return [...opening, ...parts.flat()].join('\n');
}

const opening = [
  '# Configuration',
  '',
  'Change how Geode works: in one file, or with one environment variable for each setting. Every setting has a default, so no file is needed.',
  '',
  '```jsonc',
  '// ~/.config/geode/geode.json: comments and trailing commas are allowed',
  '{',
  '  "sandbox": { "memory": "1g", "idle_timeout": 600 },',
  '  "egress": { "allow": ["pypi"] },',
  '}',
  '```',
  '',
  '| you want to | do this |',
  '| --- | --- |',
  '| see every setting with its value, and where the value comes from | `geode config` |',
  '| see one setting | `geode config get sandbox.memory` |',
  '| change one, or take it back | `geode config set sandbox.memory 1g`, `geode config unset sandbox.memory` |',
  '| edit the file, which is checked before it is saved | `geode config edit` |',
  '| check the file | `geode config check` |',
  '| use another file | `--config FILE`, or `GEODE_CONFIG=FILE` |',
  '| override one setting | `GEODE_SANDBOX_MEMORY=1g geode …` |',
  '| give a list or an object in a variable | JSON: `GEODE_EGRESS_ALLOW=\'["pypi"]\'` |',
  '',
  'A variable wins over the file, the file over the default. Unknown settings are refused, with the nearest name that exists. A host keeps the settings that it started with. After a change, the next command replaces a background host that has no running command; restart `geode gateway` yourself.',
  '',
  'Sizes are numbers of bytes or text such as `"512m"` and `"2g"`. `~` in the column of defaults is your home folder; write absolute paths yourself. Times are seconds unless the meaning says otherwise. Made by `npm run docs` from the schema in `src/config/schema.ts`.',
  '',
];

function sections(): Readonly<Record<string, Schema>> {
  const schema = z.toJSONSchema(configSchema(somewhere), { io: 'input' }) as Schema;
  return schema.properties ?? {};
}

/** An enum shows a value other than its default, a switch the opposite, a number and a text their default. */
function exampleOf(name: string, schema: Schema): unknown {
  if (Object.hasOwn(settingExamples, name)) return settingExamples[name];
  const { default: usual, enum: values } = schema;
  if (values !== undefined) return values.find((value) => value !== usual);
  if (typeof usual === 'boolean') return !usual;
  return typeof usual === 'number' || typeof usual === 'string' ? usual : undefined;
}

/** Sizes are bytes inside, and text such as "512m" in the schema of what may be given. */
function shownDefault(value: unknown, { type }: Schema): string {
  if (value === undefined) return 'not set';
  if (Array.isArray(value) && value.length > 12) return `${value.length} names: \`geode config --json\``;
  const isSize = Array.isArray(type) && type.includes('string') && type.includes('number');
  return code(isSize && typeof value === 'number' ? sizeText(value) : value);
}

function sizeText(bytes: number): string {
  const gigabytes = bytes / 1024 ** 3;
  return gigabytes >= 1 ? `${gigabytes}g` : `${bytes / 1024 ** 2}m`;
}

/** The fields of a setting that holds objects: `mcp.servers.NAME.command`. */
function fieldsOf(name: string, schema: Schema): readonly (readonly string[])[] {
  const { additionalProperties: named, items } = schema;
  const [place, inner] =
    typeof named === 'object'
      ? [`${name}.NAME`, named]
      : typeof items === 'object'
        ? [`${name}[]`, items]
        : [name, schema];
  const { properties = {}, required = [] } = inner;
  return Object.entries(properties).map(([key, field]) => [
    `\`${place}.${key}\``,
    sentence(field),
    field.default !== undefined ? code(field.default) : required.includes(key) ? 'required' : 'not set',
    '',
  ]);
}

function sentence({ description = '', enum: values, items }: Schema): string {
  const choices = values ?? (typeof items === 'object' ? items.enum : undefined);
  const named = choices?.filter((value) => !description.includes(String(value))) ?? [];
  if (choices === undefined || named.length === 0) return description;
  return `${description} (${choices.map((value) => code(value)).join(', ')})`;
}

function code(value: unknown): string {
  return `\`${JSON.stringify(value)}\``;
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
