import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const recordSchema = z.object({ owner: z.string().nullable(), handle: z.string() });

/** `kill -9` of the first process of a chat's sandbox; all in it goes with it. False where none runs. */
export function killSandbox(stateDir: string, user: string, chat: string): boolean {
  const begin = `${JSON.stringify([user, chat]).slice(0, -1)},`;
  for (const file of globSync(join(stateDir, 'sandboxes', '*', 'record.json'))) {
    const { owner, handle } = recordSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
    if (owner?.startsWith(begin) !== true) continue;
    const pid = /^(\d+):/.exec(handle)?.[1];
    if (pid === undefined) continue;
    try {
      process.kill(Number(pid), 'SIGKILL');
      return true;
    } catch {
      return false;
    }
  }
  return false;
}
