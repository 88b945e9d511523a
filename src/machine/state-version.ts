/**
 * The version of the whole state: every table, record and file that Geode keeps in `sandbox.state_dir`, with the memory
 * and the keys. The mark in the folder names the version of the newest Geode that was its host.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GeodeError, reasonOf } from '../base/errors.ts';

/** Goes up by one with each release that changes a table or the format of a file. */
export const stateVersion = 1;

export interface StateMark {
  readonly version: number;
  /** The Geode that wrote it. */
  readonly geode: string;
}

export function stateMarkFile(stateDir: string): string {
  return join(stateDir, 'state.json');
}

/**
 * Throws `state_newer` if a newer Geode was the host of this folder. Called by every command, so it reads one small
 * file and loads no schema.
 */
export function checkStateMark(stateDir: string): void {
  const mark = readStateMark(stateDir);
  if (mark !== undefined && mark.version > stateVersion)
    throw newerState(stateDir, `Geode ${mark.geode} (state version ${mark.version})`);
}

/** Undefined for a folder without a host so far, or of Geode 0.1, which wrote none. */
export function readStateMark(stateDir: string): StateMark | undefined {
  const file = stateMarkFile(stateDir);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return undefined;
    throw unreadable(file, reasonOf(error));
  }
  const mark = parsedMark(text);
  if (mark === undefined) throw unreadable(file, 'it has no version');
  return mark;
}

/** For the holder of the host lock, before it changes a table: a crash afterwards leaves no unmarked newer state. */
export function markState(stateDir: string, geode: string): void {
  if (readStateMark(stateDir)?.version === stateVersion) return;
  const mark: StateMark = { version: stateVersion, geode };
  const file = stateMarkFile(stateDir);
  try {
    writeFileSync(`${file}.new`, `${JSON.stringify(mark)}\n`, { mode: 0o600, flush: true });
    renameSync(`${file}.new`, file);
  } catch (error) {
    throw new GeodeError('ledger_failed', `The mark ${file} cannot be written: ${reasonOf(error)}.`, {
      hint: 'Free space on the disk of `sandbox.state_dir`, or give the folder to this user.',
      cause: error,
    });
  }
}

export function newerState(stateDir: string, writer: string): GeodeError {
  return new GeodeError(
    'state_newer',
    `The state in ${stateDir} was written by ${writer}; this Geode knows version ${stateVersion}. Nothing was changed.`,
  );
}

/** By hand, because a schema would take longer to load than most commands take. */
function parsedMark(text: string): StateMark | undefined {
  try {
    const mark: unknown = JSON.parse(text);
    if (typeof mark !== 'object' || mark === null || !('version' in mark) || !('geode' in mark))
      return undefined;
    const { version, geode } = mark;
    return typeof version === 'number' && Number.isSafeInteger(version) && typeof geode === 'string'
      ? { version, geode }
      : undefined;
  } catch {
    return undefined;
  }
}

function unreadable(file: string, reason: string): GeodeError {
  return new GeodeError('ledger_failed', `The mark of the state, ${file}, cannot be read: ${reason}.`, {
    hint: 'Give the file to this user, or restore it from a backup. If it is damaged, remove it: the next host writes it again.',
  });
}
