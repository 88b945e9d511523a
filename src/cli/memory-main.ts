/** Runs the memory, keys and gateway commands. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };
import { GeodeError, isGeodeError } from '../core/errors.ts';
import { modelFolder } from '../memory/embed/fetch-model.ts';
import type { CliCommand, CliConfig } from './command.ts';
import { command as gateway } from './commands/gateway.ts';
import { command as keysCreate } from './commands/keys-create.ts';
import { command as keysList } from './commands/keys-list.ts';
import { command as keysRevoke } from './commands/keys-revoke.ts';
import { command as memoryAdd } from './commands/memory-add.ts';
import { command as memoryExport } from './commands/memory-export.ts';
import { command as memoryGet } from './commands/memory-get.ts';
import { command as memoryImport } from './commands/memory-import.ts';
import { command as memoryLs } from './commands/memory-ls.ts';
import { command as memoryReindex } from './commands/memory-reindex.ts';
import { command as memoryRm } from './commands/memory-rm.ts';
import { command as memorySearch } from './commands/memory-search.ts';
import { command as memoryStats } from './commands/memory-stats.ts';

const commands: readonly CliCommand[] = [
  memorySearch,
  memoryAdd,
  memoryGet,
  memoryLs,
  memoryRm,
  memoryImport,
  memoryExport,
  memoryStats,
  memoryReindex,
  keysCreate,
  keysList,
  keysRevoke,
  gateway,
];

async function main(args: readonly string[]): Promise<number> {
  const json = args.includes('--json');
  try {
    const command = commands.find(({ name }) => args.slice(0, name.split(' ').length).join(' ') === name);
    if (!command)
      throw new GeodeError('invalid_input', `Give a command: ${commands.map(({ name }) => name).join(', ')}`);
    const { values, positionals } = parseArgs({
      args: args.slice(command.name.split(' ').length),
      options: { ...command.options, json: { type: 'boolean' } },
      allowPositionals: true,
    });
    const out = (line: string) => process.stdout.write(`${line}\n`);
    return await command.run({
      values,
      positionals,
      config: configOf(process.env),
      out,
      json,
      signal: stopSignal(),
    });
  } catch (thrown) {
    const message = isGeodeError(thrown) ? `${thrown.message}\n${thrown.hint}` : String(thrown);
    process.stderr.write(json && isGeodeError(thrown) ? `${JSON.stringify(thrown)}\n` : `${message}\n`);
    return 1;
  }
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
