/** All tables of the state, by file. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { agentChapter } from '../../agents/agent-chapter.ts';
import { approvalChapter } from '../../approvals/approval-table.ts';
import { busChapter } from '../../chat/bus/tables.ts';
import { channelMarkChapter } from '../../chat/channels/channel-marks.ts';
import { chatChapter } from '../../chat/tables.ts';
import type { Config } from '../../config/schema.ts';
import { e2bChapter } from '../../doors/e2b/e2b-table.ts';
import { openTerminalChapter } from '../../doors/open-terminal/session-folders.ts';
import { egressChapter } from '../../egress/tables.ts';
import { keyChapter } from '../../identity/keys.ts';
import { loginChapter } from '../../identity/logins.ts';
import { imageChapter } from '../../images/image-table.ts';
import { Connection } from '../../ledger/connection.ts';
import { eventChapter } from '../../ledger/event-log.ts';
import { type Chapter, versionsIn } from '../../ledger/migrate.ts';
import { checkStateMark, newerState } from '../../machine/state-version.ts';
import { toolChapter } from '../../mcp/sessions/tables.ts';
import { memoryChapter } from '../../memory/truth/schema.ts';
import { modelChapter } from '../../models/accounting.ts';
import { runChapter } from '../../runs/history/run-table.ts';
import { sandboxChapter } from '../../sandboxes/sandbox-table.ts';
import { solveChapter } from '../../solve/solve-table.ts';
import { webhookChapter } from '../../webhooks/webhook-table.ts';

/** The chapters that the host itself opens; egress, chats and channels open theirs in the same file. */
export const hostChapters: readonly Chapter[] = [
  sandboxChapter,
  eventChapter,
  modelChapter,
  solveChapter,
  approvalChapter,
  agentChapter,
  toolChapter,
  imageChapter,
  runChapter,
  e2bChapter,
  openTerminalChapter,
  webhookChapter,
];

/** The SQLite files of the state. */
export const stateFiles = ['ledger', 'keys', 'memory'] as const;
export type StateFile = (typeof stateFiles)[number];

export const stateTables: Readonly<Record<StateFile, readonly Chapter[]>> = {
  ledger: [...hostChapters, egressChapter, busChapter, chatChapter, channelMarkChapter],
  keys: [keyChapter, loginChapter],
  memory: [memoryChapter],
};

export function stateFilesOf({ sandbox, gateway, memory }: Config): Readonly<Record<StateFile, string>> {
  return { ledger: join(sandbox.state_dir, 'ledger.db'), keys: gateway.keys_file, memory: memory.file };
}

/**
 * Throws `state_newer` if a newer Geode was the host of this state, or if a file has a chapter that this Geode does not
 * know or knows an older form of. Changes nothing.
 */
export function checkState(config: Config): void {
  const { state_dir: stateDir } = config.sandbox;
  checkStateMark(stateDir);
  const files = stateFilesOf(config);
  for (const name of stateFiles) {
    const newer = newerChapterIn(files[name], stateTables[name]);
    if (newer !== undefined) throw newerState(stateDir, `a newer Geode (${newer} in ${files[name]})`);
  }
}

function newerChapterIn(file: string, chapters: readonly Chapter[]): string | undefined {
  if (!existsSync(file)) return undefined;
  const known = new Map(chapters.map(({ name, changes }) => [name, changes.length]));
  for (const [name, version] of chaptersIn(file)) {
    const ours = known.get(name);
    if (ours === undefined) return `unknown chapter ${JSON.stringify(name)}`;
    if (version > ours) return `chapter ${name} ${version}, known up to ${ours}`;
  }
  return undefined;
}

/** None if the file is not a database: the part that opens it reports that. */
function chaptersIn(file: string): ReadonlyMap<string, number> {
  try {
    using connection = new Connection(file, { readOnly: true, timeoutMs: 1_000 });
    return versionsIn(connection);
  } catch {
    return new Map();
  }
}
