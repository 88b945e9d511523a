import type { backups } from '../../contract/backups.ts';
import type { Backups, MadeBackup } from '../../seams/backups.ts';
import type { Handlers } from '../serve.ts';
import { withEvents } from '../with-events.ts';

export function backupHandlers(kept: Backups): Handlers<typeof backups> {
  return {
    list: () => kept.list(),
    create: ({ name, passphrase }, { caller, signal }) =>
      made(
        withEvents<string, MadeBackup>((onPart) =>
          kept.create(caller.user, { name, passphrase, onPart, signal }),
        ),
      ),
  };
}

async function* made(making: AsyncGenerator<string, MadeBackup>) {
  let step = await making.next();
  for (; !step.done; step = await making.next()) yield { type: 'backup-part' as const, part: step.value };
  yield { type: 'backup-made' as const, ...step.value };
}
