import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { localUser } from '../base/identity.ts';
import type { Config } from '../config/schema.ts';
import { Secrets } from '../egress/bindings/secrets.ts';
import { egressChapter } from '../egress/tables.ts';
import { Ledger } from '../ledger/ledger.ts';

/** A secret of the operator, for the host's own use. Undefined if there is no secret of that name. */
export function storedSecret({ sandbox, egress }: Config, name: string): string | undefined {
  const file = join(sandbox.state_dir, 'ledger.db');
  if (!existsSync(file)) return undefined;
  using ledger = new Ledger(file, [egressChapter]);
  return new Secrets(ledger, egress.secrets_key).reveal(localUser, name);
}
