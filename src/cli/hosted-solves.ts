import { localUser } from '../core/identity.ts';
import type { Solves } from '../core/solve.ts';
import { openHost } from '../host/open-host.ts';
import type { UserCrystals } from '../solve/open-solves.ts';
import type { CliContext } from './command.ts';
import { version } from './version.ts';

interface HostedSolves extends AsyncDisposable {
  readonly solves: Solves;
  readonly crystals: UserCrystals;
}

/** Those of the host that runs the command; where each command is its own host, of one that is opened for it. */
export async function solvesFor(context: CliContext): Promise<HostedSolves> {
  const { hosted, loaded, host: machine, signal } = context;
  if (hosted?.solves !== undefined) {
    const { of, crystals } = hosted.solves;
    return { solves: of(localUser), crystals: crystals(localUser), async [Symbol.asyncDispose]() {} };
  }
  const host = await openHost({
    loaded: await loaded(),
    machine,
    version,
    tends: 'idle',
    logLevel: 'silent',
    signal,
  });
  return {
    solves: host.solves.of(localUser),
    crystals: host.solves.crystals(localUser),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}
