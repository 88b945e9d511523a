import { isGeodeError } from '../../../src/client/client.ts';
import { client } from '../api.ts';

export const mostFileBytes = 20 * 1024 ** 2;
/** A longer paste becomes a file: nobody reads it in a message. */
export const mostPasted = 8000;

/** Puts files into the sandbox of the chat, where its agent finds them. Returns their paths. */
export async function uploaded(chat: string, files: readonly File[]): Promise<readonly string[]> {
  if (files.length === 0) return [];
  const state = await stateOf(chat);
  // The first message of a chat makes its sandbox; while a turn runs, there is one.
  if (state === undefined) await client.agents.open(chat);
  else if (state === 'stopped') await client.sandboxes.start(chat);
  const paths: string[] = [];
  for (const file of files) {
    const path = `attachments/${file.name.replace(/[^\w.-]+/g, '_').slice(-100)}`;
    await client.sandboxes.of(chat).files.write(path, new Uint8Array(await file.arrayBuffer()));
    paths.push(path);
  }
  return paths;
}

/** Undefined where there is no sandbox yet. */
async function stateOf(chat: string): Promise<string | undefined> {
  try {
    return (await client.sandboxes.inspect(chat)).state;
  } catch (error) {
    if (isGeodeError(error, 'sandbox_not_found')) return undefined;
    throw error;
  }
}

/** The message names its files, so that the agent and later readers find them. */
export function withPaths(words: string, paths: readonly string[]): string {
  return paths.length === 0 ? words : `${words}\n\n${paths.map((path) => `[${path}]`).join(' ')}`.trim();
}
