import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { GeodeError, reasonOf } from '../../base/errors.ts';
import { localUser } from '../../base/identity.ts';
import type { Log } from '../../base/log.ts';
import { Turns } from '../../base/turns.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { BackupFacts, Backups } from '../../seams/backups.ts';
import type { EventSink } from '../../seams/events.ts';
import type { Sandboxes } from '../../seams/persistent.ts';
import { headerOf } from './read-backup.ts';
import { writeBackup } from './write-backup.ts';

const suffix = '.geode';
/** Prefix of scheduled backups. Only these are removed automatically. */
const scheduledPrefix = 'scheduled-';
const lookEveryMs = 60_000;

export interface BackupsOptions {
  readonly loaded: LoadedConfig;
  readonly sandboxes: Sandboxes;
  readonly events: EventSink;
  readonly log: Log;
  readonly version: string;
}

/** With a schedule in the config, makes backups until it is closed. */
export function openBackups(options: BackupsOptions): Backups & AsyncDisposable {
  const { loaded, events, log } = options;
  const { folder, every, keep, passphrase_file: passphraseFile } = loaded.config.backup;
  const turns = new Turns();
  const closing = new AbortController();
  const backups: Backups = {
    list: () => backupsIn(folder),
    create: (user, { name = timeName(), passphrase, onPart = () => {}, signal }) =>
      turns.in(
        async () => {
          const file = join(folder, `${name}${suffix}`);
          await mkdir(folder, { recursive: true, mode: 0o700 });
          await removeInterrupted(folder);
          if ((await stat(file).catch(() => undefined)) !== undefined)
            throw new GeodeError('file_exists', `There is a backup ${name} already.`, {
              hint: 'Choose another name, or remove the file.',
            });
          const signals = [closing.signal, ...(signal === undefined ? [] : [signal])];
          const made = await writeBackup(options, {
            file,
            passphrase,
            onPart,
            signal: AbortSignal.any(signals),
          });
          events.emit(user, { type: 'backup-create', backup: name, bytes: made.bytes });
          log.info({ user, backup: name, bytes: made.bytes }, 'backup made');
          return { name, file, geode: options.version, encrypted: passphrase !== undefined, ...made };
        },
        { what: 'Waiting for the other backup', signal },
      ),
  };
  const scheduled = async () => {
    const latest = (await scheduledIn(folder))[0];
    if (every === null || (latest !== undefined && Date.now() - Date.parse(latest.madeAt) < every * 1000))
      return;
    const passphrase = passphraseFile && (await readPassphrase(passphraseFile));
    await backups.create(localUser, { name: `${scheduledPrefix}${timeName()}`, passphrase });
    for (const { file } of (await scheduledIn(folder)).slice(keep)) await rm(file, { force: true });
  };
  let working: Promise<void> = Promise.resolve();
  const look = () => {
    working = scheduled().catch((error) => {
      if (!closing.signal.aborted)
        log.error({ err: error }, `The scheduled backup failed: ${reasonOf(error)}`);
    });
  };
  const timer = every === null ? undefined : setInterval(look, Math.min(lookEveryMs, every * 1000));
  timer?.unref();
  return {
    ...backups,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      closing.abort();
      await working;
      await turns.in(async () => {});
    },
  };
}

/** The first line of a file: an editor adds a line break. */
export async function readPassphrase(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause) => {
    throw new GeodeError('invalid_input', `The passphrase file ${file} cannot be read: ${reasonOf(cause)}.`);
  });
  const [passphrase = ''] = text.split(/\r?\n/);
  if (passphrase.length >= 8) return passphrase;
  throw new GeodeError('invalid_input', `The passphrase in ${file} has fewer than 8 characters.`);
}

export async function backupsIn(folder: string): Promise<readonly BackupFacts[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(suffix));
  const found = await Promise.all(names.map((name) => factsOf(folder, name)));
  return found
    .filter((facts) => facts !== undefined)
    .sort((one, other) => other.madeAt.localeCompare(one.madeAt));
}

async function scheduledIn(folder: string): Promise<readonly BackupFacts[]> {
  return (await backupsIn(folder)).filter(({ name }) => name.startsWith(scheduledPrefix));
}

async function factsOf(folder: string, name: string): Promise<BackupFacts | undefined> {
  const file = join(folder, name);
  try {
    const { made_at: madeAt, geode, encryption } = await headerOf(file);
    const { size: bytes } = await stat(file);
    return {
      name: name.slice(0, -suffix.length),
      file,
      bytes,
      madeAt,
      geode,
      encrypted: encryption !== null,
    };
  } catch {
    return undefined;
  }
}

/** Backups are made by the one host of the state, one at a time, so these are of a host that was killed. */
async function removeInterrupted(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.endsWith(`${suffix}.new`) || name.endsWith(`${suffix}.parts`))
      await rm(join(folder, name), { recursive: true, force: true });
  }
}

/** 2026-01-31T12-30-59Z, the same in every file system and in the order of time. */
function timeName(): string {
  return `${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}Z`;
}
