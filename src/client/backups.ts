import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { BackupFacts, MadeBackup } from '../seams/backups.ts';
import { callsOf } from './calls.ts';
import type { ApiConnection } from './send.ts';

/** Needs the scope `admin`. */
export interface RemoteBackups {
  list(options?: Cancel): Promise<readonly BackupFacts[]>;
  /** With a passphrase the backup is encrypted and holds the key of the secrets. A cancel ends it. */
  create(
    options?: {
      readonly name?: string;
      readonly passphrase?: string;
      readonly onPart?: (part: string) => void;
    } & Cancel,
  ): Promise<MadeBackup>;
}

export function remoteBackups(connection: ApiConnection): RemoteBackups {
  const calls = callsOf(connection, 'backups');
  return {
    list: calls.list,
    async create({ name, passphrase, onPart = () => {}, signal } = {}) {
      for await (const event of calls.create({ name, passphrase }, { signal })) {
        if (event.type === 'backup-part') onPart(event.part);
        else {
          const { type: _, ...made } = event;
          return made;
        }
      }
      throw new GeodeError('host_lost', 'The backup ended without a file.', {
        hint: 'Make the backup again.',
      });
    },
  };
}
