import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { command } from './command.ts';

export const newcomerPrograms = { node: '20.20.2', npm10: '10.8.2', npm11: '11.6.2' } as const;

/** Node and both npm below a root. They come from npm packages, which their hashes in the registry cover. */
export async function installNewcomerPrograms(root: string): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'geode-newcomer-'));
  const fetched = async (spec: string, into: string) => {
    mkdirSync(into, { recursive: true });
    const { stdout } = await promisify(execFile)('npm', ['pack', '--silent', '--ignore-scripts', spec], {
      cwd: scratch,
    });
    await command('tar', ['xzf', join(scratch, stdout.trim()), '-C', into, '--strip-components=1'], {
      timeoutMs: 60_000,
    });
  };
  try {
    const node = join(scratch, 'node');
    await fetched(`node-linux-${process.arch}@${newcomerPrograms.node}`, node);
    mkdirSync(join(root, 'usr/local/bin'), { recursive: true });
    copyFileSync(join(node, 'bin/node'), join(root, 'usr/local/bin/node'));
    chmodSync(join(root, 'usr/local/bin/node'), 0o755);
    for (const [name, version] of [
      ['npm10', newcomerPrograms.npm10],
      ['npm11', newcomerPrograms.npm11],
    ] as const) {
      await fetched(`npm@${version}`, join(root, 'opt', name));
      for (const program of ['npm', 'npx']) {
        const file = join(root, 'opt', name, 'programs', program);
        mkdirSync(join(file, '..'), { recursive: true });
        writeFileSync(file, `#!/bin/sh\nexec /usr/local/bin/node /opt/${name}/bin/${program}-cli.js "$@"\n`);
        chmodSync(file, 0o755);
      }
    }
  } finally {
    rmSync(scratch, { recursive: true });
  }
}
