import { z } from 'zod';
import type { UserSandboxes } from '../../seams/persistent.ts';
import type { SignalName } from '../../seams/process.ts';

const stateSchema = z.object({ process: z.object({ id: z.string() }) });

/** Ends the program in a driver's state. Does nothing if it has ended or its sandbox is stopped. */
export async function endProgram(
  state: unknown,
  sandboxes: UserSandboxes,
  chat: string,
  how: SignalName,
): Promise<void> {
  const id = stateSchema.safeParse(state).data?.process.id;
  const status = id === undefined ? undefined : await sandboxes.inspect(chat).catch(() => undefined);
  if (id === undefined || status?.state !== 'running') return;
  const sandbox = await sandboxes.start(chat);
  await sandbox.signal(id, how, { tree: how === 'SIGKILL' }).catch(() => {});
}
