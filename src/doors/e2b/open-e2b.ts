import type { Log } from '../../base/log.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Limits } from '../../seams/limits.ts';
import type { Sandboxes } from '../../seams/persistent.ts';
import { E2bTable } from './e2b-table.ts';
import { Lifetimes } from './lifetimes.ts';
import { SandboxTokens } from './sandbox-tokens.ts';
import { SignedUrls } from './signed-urls.ts';

/** The parts that the E2B API needs in addition to the host's own. Shared by all servers of a host. */
export interface E2b extends Disposable {
  readonly table: E2bTable;
  readonly tokens: SandboxTokens;
  readonly signed: SignedUrls;
  readonly lifetimes: Lifetimes;
  /** Images by template names. */
  readonly templates: Readonly<Record<string, string>>;
  /** Servers in sandboxes have names below it; null: they have none. */
  readonly domain: string | null;
  /** For every sandbox created through the E2B API. */
  readonly limits: Limits;
}

export function openE2b(
  ledger: Ledger,
  {
    sandboxes,
    log,
    ...settings
  }: { sandboxes: Sandboxes; log: Log } & Pick<E2b, 'templates' | 'domain' | 'limits'>,
): E2b {
  const table = new E2bTable(ledger);
  const tokens = new SandboxTokens(table.secret());
  const lifetimes = new Lifetimes(table, sandboxes, log);
  return {
    table,
    tokens,
    signed: new SignedUrls(table, tokens),
    lifetimes,
    ...settings,
    [Symbol.dispose]: () => lifetimes[Symbol.dispose](),
  };
}
