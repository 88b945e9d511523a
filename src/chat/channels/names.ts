/** Names of people and files are for display only: remove control, direction and invisible characters. */
const unseen = /[\p{Cc}\p{Cf}\u115f\u1160\u2800\u3164\uffa0]/gu;

export function personName(given: string | undefined | null, id: string): string {
  const plain = (given ?? '').toWellFormed().replaceAll(unseen, '').trim().slice(0, 80).toWellFormed();
  return plain === '' ? id : plain;
}

/** A file name without a path, whatever the sender sent. */
export function fileName(given: string): string {
  const base = given.toWellFormed().split(/[/\\]/).at(-1) ?? '';
  const plain = base.replaceAll(unseen, '').slice(-120).toWellFormed().trim();
  return /^\.*$/.test(plain) ? 'file' : plain;
}
