/** Which runtimes there are, and whether a command runs in each: asked of the host that runs, or tried here. */
import type { GeodeClient, RemoteRuntime } from '../../client/client.ts';
import { localUser } from '../../core/identity.ts';
import type { RuntimeName } from '../../core/runtime.ts';
import type { CliContext } from '../command.ts';
import { askRunningHost } from './running-api.ts';

export interface RuntimeTrial {
  readonly runtime: RemoteRuntime;
  /** What a command in it came to, or why none could be run; undefined where it does not work anyway. */
  readonly tried?: { readonly exitCode: number | null; readonly grade: string } | { readonly error: unknown };
}

const command = { argv: ['/bin/sh', '-c', 'exit 0'] } as const;

/** `asHost`: by the host, with what it finds and may do, which is what counts for sandboxes. */
export interface RuntimeTrials {
  readonly asHost: boolean;
  readonly trials: readonly RuntimeTrial[];
}

export async function tryRuntimes(context: CliContext): Promise<RuntimeTrials> {
  const asked = await askRunningHost(context, localUser, (client) => byHost(client, context), 'anything');
  if (asked !== undefined) return { asHost: true, trials: asked.answer };
  return { asHost: false, trials: await here(context) };
}

async function byHost(client: GeodeClient, { signal }: CliContext): Promise<readonly RuntimeTrial[]> {
  const runtimes = await client.runtimes({ signal });
  return tryEach(runtimes, async (runtime) => {
    const running = await client.runs.exec(command, { runtime }, { opening: signal, onPull: () => {} });
    try {
      for await (const event of running)
        if (event.type === 'exit') return { exitCode: event.exitCode, grade: running.sandbox.grade };
      return { exitCode: null, grade: running.sandbox.grade };
    } finally {
      running.close();
    }
  });
}

async function here({ app, signal }: CliContext): Promise<readonly RuntimeTrial[]> {
  const geode = await app();
  const probed = (await geode.probe()).map(({ runtime, found }) => ({ name: runtime.name, ...found }));
  return tryEach(probed, async (runtime) => {
    await using sandbox = await geode.open({}, { runtime, signal });
    const { exitCode } = await sandbox.exec(command, { signal });
    return { exitCode, grade: sandbox.grade };
  });
}

function tryEach(
  runtimes: readonly RemoteRuntime[],
  run: (name: RuntimeName) => Promise<{ readonly exitCode: number | null; readonly grade: string }>,
): Promise<readonly RuntimeTrial[]> {
  return Promise.all(
    runtimes.map(async (runtime) => {
      if (!runtime.available) return { runtime };
      const tried = await run(runtime.name).catch((error: unknown) => ({ error }));
      return { runtime, tried };
    }),
  );
}
