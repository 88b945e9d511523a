/** The last upgrade of a state folder: the way back, and what its next host reports. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { localUser } from '../../base/identity.ts';
import { parsedJson } from '../../base/json.ts';
import { replaceFile } from '../../base/replace-file.ts';
import type { EventSink } from '../../seams/events.ts';
import { versionSchema } from './versions.ts';

const recordSchema = z.object({
  at: z.string(),
  from: versionSchema,
  to: versionSchema,
  /** The version of the state that `from` knows. */
  stateVersion: z.int(),
  /** The copy of the tables from before. */
  saved: z.string(),
  /** The backup that was made and tried. */
  backup: z.string(),
});
export type UpgradeRecord = z.infer<typeof recordSchema>;

const changeSchema = z.object({ type: z.enum(['upgrade', 'rollback']), from: z.string(), to: z.string() });

const recordFile = (stateDir: string) => join(stateDir, 'upgrade.json');
const changeFile = (stateDir: string) => join(stateDir, 'version-change.json');

/** Undefined without an upgrade, or after it was rolled back. */
export async function readUpgrade(stateDir: string): Promise<UpgradeRecord | undefined> {
  const text = await readFile(recordFile(stateDir), 'utf8').catch(() => '');
  return recordSchema.safeParse(parsedJson(text)).data;
}

export async function writeUpgrade(stateDir: string, record: UpgradeRecord): Promise<void> {
  await writeWhole(recordFile(stateDir), record);
}

export async function removeUpgrade(stateDir: string): Promise<void> {
  await rm(recordFile(stateDir), { force: true });
}

/** For the next host: while versions change there is no host with an event log. */
export async function noteChange(stateDir: string, change: z.infer<typeof changeSchema>): Promise<void> {
  await writeWhole(changeFile(stateDir), change);
}

/** For a host that has just opened its event log. */
export async function reportChange(stateDir: string, events: EventSink): Promise<void> {
  const text = await readFile(changeFile(stateDir), 'utf8').catch(() => undefined);
  if (text === undefined) return;
  const change = changeSchema.safeParse(parsedJson(text)).data;
  if (change !== undefined) events.emit(localUser, change);
  await rm(changeFile(stateDir), { force: true });
}

function writeWhole(file: string, value: object): Promise<void> {
  return replaceFile(file, (draft) =>
    writeFile(draft, `${JSON.stringify(value)}\n`, { mode: 0o600, flush: true }),
  );
}
