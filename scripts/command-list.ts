/**
 * `src/cli/command-list.ts`: a line of help and a lazy import for each command file. A command is loaded when it is
 * called, so the list cannot import it; it is made from the files instead.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** In the order of `geode --help`. */
const order = [
  'onboard',
  'run',
  'repl',
  'runs ls',
  'runs show',
  'exec',
  'shell',
  'sandbox create',
  'sandbox ls',
  'sandbox start',
  'sandbox stop',
  'sandbox rm',
  'sandbox exec',
  'sandbox cp',
  'sandbox logs',
  'sandbox ps',
  'sandbox stats',
  'sandbox pause',
  'sandbox resume',
  'sandbox hibernate',
  'sandbox snapshot',
  'sandbox restore',
  'sandbox diff',
  'sandbox undo',
  'sandbox fork',
  'sandbox checkpoint',
  'sandbox open',
  'sandbox extend',
  'sandbox rename',
  'agent-stdin',
  'agent',
  'agent ls',
  'agent log',
  'replay',
  'agent fork',
  'agent interrupt',
  'agent stop',
  'claude',
  'chat',
  'chat ls',
  'chat export',
  'chat pair',
  'chat unpair',
  'chat audit',
  'schedule ls',
  'schedule add',
  'schedule rm',
  'solve',
  'solve ls',
  'solve show',
  'solve resume',
  'crystals ls',
  'crystals show',
  'crystals pin',
  'crystals edit',
  'crystals verify',
  'crystals rm',
  'egress ls',
  'egress default',
  'egress allow',
  'egress deny',
  'egress ask',
  'egress learn',
  'egress log',
  'egress usage',
  'approvals ls',
  'approvals allow',
  'approvals deny',
  'approvals watch',
  'webhook add',
  'webhook ls',
  'webhook log',
  'webhook rm',
  'secrets set',
  'secrets ls',
  'secrets rm',
  'secrets rotate',
  'mcp',
  'image build',
  'image pull',
  'image ls',
  'image rm',
  'image import',
  'image export',
  'image prune',
  'runtime install',
  'tools open',
  'tools ls',
  'tools close',
  'tools servers',
  'tools log',
  'memory add',
  'memory export',
  'memory get',
  'memory import',
  'memory ls',
  'memory reindex',
  'memory rm',
  'memory search',
  'memory audit',
  'memory stats',
  'gateway',
  'dashboard',
  'host',
  'host status',
  'host stop',
  'backup create',
  'backup ls',
  'backup verify',
  'backup restore',
  'upgrade',
  'rollback',
  'keys create',
  'keys ls',
  'keys revoke',
  'status',
  'doctor',
  'config',
  'config path',
  'config get',
  'config set',
  'config unset',
  'config edit',
  'config check',
  'uninstall',
  'completion',
];

const cli = fileURLToPath(new URL('../src/cli/', import.meta.url));
const lineWidth = 110;

interface Found {
  readonly file: string;
  readonly variable: string;
  readonly name: string;
  readonly summary: string;
}

export async function commandList(): Promise<string> {
  const files = globSync('commands/**/*.ts', { cwd: cli }).toSorted();
  const found = new Map<string, Found>();
  for (const each of await Promise.all(files.map(commandOf))) {
    const other = found.get(each.name);
    if (other !== undefined) throw new Error(`${each.name} is the name of ${other.file} and of ${each.file}`);
    found.set(each.name, each);
  }
  const unlisted = [...found.keys()].filter((name) => !order.includes(name));
  if (unlisted.length > 0)
    throw new Error(`Give a place in scripts/command-list.ts to ${unlisted.join(', ')}`);
  const entries = order.map((name) => {
    const command = found.get(name);
    if (command === undefined) throw new Error(`scripts/command-list.ts names ${name}, which no file is`);
    return entryText(command);
  });
  return [
    '/** Every command, in the order of `geode --help`. Made of the files in `commands` by `npm run docs`. */\n',
    "import type { CommandEntry } from './command.ts';\n",
    '\n',
    'export const commands: readonly CommandEntry[] = [\n',
    ...entries,
    '];\n',
  ].join('');
}

async function commandOf(file: string): Promise<Found> {
  const exported: Readonly<Record<string, unknown>> = await import(pathToFileURL(join(cli, file)).href);
  const [only, ...others] = Object.entries(exported).flatMap(([variable, value]) =>
    isCommand(value) ? [{ file, variable, name: value.name, summary: value.summary }] : [],
  );
  if (only === undefined || others.length > 0) throw new Error(`${file} has to export one command`);
  return only;
}

function isCommand(value: unknown): value is { readonly name: string; readonly summary: string } {
  return (
    typeof value === 'object' && value !== null && 'name' in value && 'summary' in value && 'run' in value
  );
}

/** As the formatter writes it. */
function entryText({ file, variable, name, summary }: Found): string {
  const text = quoted(summary);
  const line = `    summary: ${text},`;
  return [
    '  {\n',
    `    name: ${quoted(name)},\n`,
    line.length > lineWidth ? `    summary:\n      ${text},\n` : `${line}\n`,
    `    load: async () => (await import('./${file}')).${variable},\n`,
    '  },\n',
  ].join('');
}

function quoted(text: string): string {
  return text.includes("'") ? JSON.stringify(text) : `'${text}'`;
}
