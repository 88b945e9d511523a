/** Runs the memory, keys and gateway commands. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };
import { GeodeError, isGeodeError } from '../core/errors.ts';
import { modelFolder } from '../memory/embed/fetch-model.ts';
import { type CliCommand, type CliConfig, exitCodes } from './command.ts';
import { gatewayCommand } from './commands/gateway.ts';
import { keysCreateCommand } from './commands/keys-create.ts';
import { keysListCommand } from './commands/keys-list.ts';
import { keysRevokeCommand } from './commands/keys-revoke.ts';
import { memoryAddCommand } from './commands/memory-add.ts';
import { memoryExportCommand } from './commands/memory-export.ts';
import { memoryGetCommand } from './commands/memory-get.ts';
import { memoryImportCommand } from './commands/memory-import.ts';
import { memoryLsCommand } from './commands/memory-ls.ts';
import { memoryReindexCommand } from './commands/memory-reindex.ts';
import { memoryRmCommand } from './commands/memory-rm.ts';
import { memorySearchCommand } from './commands/memory-search.ts';
import { memoryStatsCommand } from './commands/memory-stats.ts';

const commands: readonly CliCommand[] = [
  gatewayCommand,
  keysCreateCommand,
  keysListCommand,
  keysRevokeCommand,
  memoryAddCommand,
  memoryExportCommand,
  memoryGetCommand,
  memoryImportCommand,
  memoryLsCommand,
  memoryReindexCommand,
  memoryRmCommand,
  memorySearchCommand,
  memoryStatsCommand,
];

async function main(args: readonly string[]): Promise<number> {
  const json = args.includes('--json');
  try {
    return await runCommand(args, json);
  } catch (thrown) {
    if (!isGeodeError(thrown)) throw thrown;
    if (json) process.stdout.write(`${JSON.stringify(thrown)}\n`);
    else process.stderr.write(`geode: ${thrown.message}\n  ${thrown.hint}\n`);
    return thrown.details.usage === true ? exitCodes.usage : exitCodes.failed;
  }
}

async function runCommand(args: readonly string[], json: boolean): Promise<number> {
  const command = commands.find(({ name }) => `${args.join(' ')} `.startsWith(`${name} `));
  if (!command) {
    const names = commands.map(({ name }) => name).join(', ');
    throw new GeodeError('invalid_input', `Give a command: ${names}`, { details: { usage: true } });
  }
  const { values, positionals } = parseArgs({
    args: args.slice(command.name.split(' ').length),
    options: { ...command.options, json: { type: 'boolean' } },
    allowPositionals: true,
  });
  const out = (line: string) => process.stdout.write(`${line}\n`);
  return command.run({ values, positionals, config: configOf(process.env), out, json, signal: stopSignal() });
}

function configOf(env: NodeJS.ProcessEnv): CliConfig {
  return {
    dataDir: env.GEODE_HOME ?? join(homedir(), '.geode'),
    modelFolder: modelFolder(env, homedir()),
    version: packageJson.version,
    gateway: {
      host: '127.0.0.1',
      port: 4430,
      auth: 'keys',
      allowedHosts: [],
      allowedOrigins: [],
      logLevel: env.GEODE_LOG_LEVEL ?? 'info',
    },
  };
}

function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}

process.exitCode = await main(process.argv.slice(2));
