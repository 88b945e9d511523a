import { installPackages, whyNoPackages } from './apt.ts';
import { command } from './command.ts';

/** The path of a bubblewrap that can really make a sandbox here. Call it under the setup lock. */
export async function startBubblewrap(): Promise<string> {
  if (whyNoPackages() === null) await installPackages(['bubblewrap']);
  const path = (
    await command('sh', ['-c', 'command -v bwrap'], { timeoutMs: 60_000 }).catch(() => '')
  ).trim();
  if (path === '') throw new Error(`bwrap is not installed, and it cannot be: ${whyNoPackages()}`);
  await command(path, ['--unshare-all', '--ro-bind', '/', '/', '--proc', '/proc', 'true'], {
    timeoutMs: 60_000,
  });
  return path;
}
