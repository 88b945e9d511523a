import { resolve } from 'node:path';
import { localUser } from '../../base/identity.ts';
import type { GeodeClient } from '../../client/client.ts';
import type { RemoteSandbox } from '../../client/sandbox.ts';
import { type CliContext, text } from '../command.ts';
import { reachSettings } from '../connect/reach-settings.ts';
import { printableLine } from '../render/printable.ts';
import { chatOfFolder, readFolderRecord, recordFile } from './folder-record.ts';
import { besideEnding, folderOf } from './local-tree.ts';
import { type Synced, syncFolder } from './sync-folder.ts';

/** The work in the copy of a folder. */
interface FolderWork {
  run(chat: string): Promise<number>;
  /** Called with the changed copy, before its changes are copied back. */
  after?(ended: EndedWork): Promise<void>;
}

export interface EndedWork {
  readonly folder: string;
  readonly copy: RemoteSandbox;
  /** The copy before the work. */
  readonly snapshot: string;
  /** Where something about it can be kept: beside the record of the folder. */
  readonly reportFile: string;
}

/** Runs Claude Code on a copy of a folder, and copies its changes back, also after a failure. */
export async function inFolder(
  { agents, sandboxes }: GeodeClient,
  given: string,
  context: CliContext,
  work: FolderWork,
): Promise<number> {
  const { values, machine, cwd, signal, err } = context;
  const { stateDir } = await reachSettings(context);
  const folder = await folderOf(resolve(cwd, given), {
    home: machine.home,
    own: [stateDir, machine.configDir],
  });
  const chat = chatOfFolder(folder);
  await agents.open(chat, { driver: 'claude', model: text(values, 'model'), signal });
  const { id } = await sandboxes.inspect(chat, { signal });
  const shared = {
    ...{ folder, sandboxId: id, umask: machine.umask },
    recordFile: recordFile(stateDir, text(values, 'user') ?? localUser, chat),
  };
  const place = sandboxes.of(chat);
  const reported = new Set<string>();
  const onOut = (out: Omit<Synced, 'sent'>) => {
    for (const line of linesOf(out, context)) if (!reported.has(line)) err(line);
    for (const line of linesOf({ ...out, brought: [] }, context)) reported.add(line);
  };
  const into = await syncFolder(place, shared, { onOut, signal });
  err(
    `${printableLine(folder)}: Claude Code works on a copy in the chat ${chat}; ${into.sent} files went in`,
  );
  const snapshot = (await readFolderRecord(shared.recordFile, { folder, sandbox: id }))?.snapshot;
  try {
    return await work.run(chat);
  } finally {
    try {
      const reportFile = shared.recordFile.replace(/\.json$/, '.md');
      if (snapshot !== undefined) await work.after?.({ folder, copy: place, snapshot, reportFile });
    } finally {
      // Also after Ctrl-C, which has fired the signal.
      await syncFolder(place, shared, { onOut });
    }
  }
}

const sayings = {
  written: 'written',
  removed: 'removed',
  beside: "changed on both sides; the agent's is in",
};

function linesOf({ brought, left }: Omit<Synced, 'sent'>, { paint }: CliContext): readonly string[] {
  return [
    ...brought.map(({ path, how }) =>
      paint('yellow', `${sayings[how]} ${printableLine(how === 'beside' ? path + besideEnding : path)}`),
    ),
    ...left.map(({ path, why }) => `${printableLine(path)} ${printableLine(why)}: not brought back`),
  ];
}
