/** Words of the backups in Settings. */
export const backups = {
  title: 'Backups',
  none: 'No backup yet',
  noneHow: 'A backup is one file with everything that this host remembers, made while it runs.',
  make: 'Make a backup',
  name: 'Name (empty: the time)',
  passphrase: 'Passphrase (may be empty)',
  passphraseHow:
    'At least 8 characters. Without one the backup is not encrypted, and the key of the secrets is left out.',
  reading: (part: string) => `Reading ${part}`,
  made: (name: string, bytes: string) => `${name} is made, ${bytes}`,
  without: (sandboxes: string) => `Without the files of ${sandboxes}: they are not on this machine.`,
  encrypted: 'encrypted',
  open: 'not encrypted',
  restore: 'Try it, or restore it, in a terminal:',
};
