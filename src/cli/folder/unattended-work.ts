import type { GeodeClient } from '../../client/client.ts';
import type { CliContext } from '../command.ts';
import { oneTurn } from '../one-turn.ts';
import { printableLine } from '../render/printable.ts';
import type { EndedWork } from './in-folder.ts';
import { changesSince, TurnNotes, writeReport } from './unattended-report.ts';

/** Runs one long turn without questions. At the end, prints a summary and the path of the diff. */
export function unattendedWork(client: GeodeClient, prompt: string, context: CliContext) {
  const notes = new TurnNotes();
  return {
    run: (chat: string) =>
      oneTurn(client, chat, prompt, context, { unattended: true, through: (events) => notes.of(events) }),
    async after({ folder, copy, snapshot, reportFile }: EndedWork): Promise<void> {
      const changes = await changesSince(copy, snapshot);
      await writeReport(reportFile, notes.text(folder, prompt, changes));
      context.err(`${notes.summary}; the report with the diff: ${printableLine(reportFile)}`);
    },
  };
}
