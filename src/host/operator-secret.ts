import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { localUser } from '../core/identity.ts';
import { Secrets } from '../egress/secrets.ts';
import { egressChapter } from '../egress/tables.ts';
import { Ledger } from '../ledger/ledger.ts';

/** Looks up a secret of whoever runs this host, for what the config itself names; undefined where there is none. */
export function secretOf({ sandbox, egress }: Config): (name: string) => string | undefined {
  return (name) => {
    using ledger = new Ledger(join(sandbox.state_dir, 'ledger.db'), [egressChapter]);
    return new Secrets(ledger, egress.secrets_key).reveal(localUser, name);
  };
}
