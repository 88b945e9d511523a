import type { processes } from '../../contract/processes.ts';
import { withoutValues } from '../../journals/redacted.ts';
import type { Process } from '../../seams/process.ts';
import type { Call } from '../call.ts';
import { runningSandbox, startedSandbox } from '../sandbox-of.ts';
import type { Handlers } from '../serve.ts';
import { commandOf, markBefore } from './command.ts';
import { outputOf } from './process-output.ts';
import { withBase64 } from './with-base64.ts';

export const processHandlers: Handlers<typeof processes> = {
  async exec({ chat, outputLimitBytes, ...asked }, call) {
    const { signal } = call;
    const sandbox = await startedSandbox(call, chat);
    await markBefore(sandbox, asked.undoable, signal);
    const result = await sandbox.exec(commandOf(asked), {
      ...(outputLimitBytes !== undefined && { outputLimitBytes }),
      signal,
    });
    return withBase64(withoutValues(result, call.secretValues()));
  },
  async spawn({ chat, ...asked }, call) {
    const { signal } = call;
    const sandbox = await startedSandbox(call, chat);
    await markBefore(sandbox, asked.undoable, signal);
    const { id, pid } = await sandbox.spawn(commandOf(asked), { signal });
    return { id, pid, sandbox: sandbox.id };
  },
  list: async ({ chat }, call) => (await runningSandbox(call, chat)).processes({ signal: call.signal }),
  output: ({ chat, process, from = 0 }, call) => outputOf(call, chat, process, call.resumeAfter ?? from),
  async write(named, call) {
    const process = await attached(named, call);
    for await (const bytes of call.body()) await process.write(bytes);
  },
  closeStdin: async (named, call) => (await attached(named, call)).closeStdin(),
  async signal({ chat, process, signal: name, tree = false }, call) {
    const sandbox = await startedSandbox(call, chat);
    await sandbox.signal(process, name, { tree, signal: call.signal });
  },
  resize: async ({ columns, rows, ...named }, call) =>
    (await attached(named, call)).resize({ columns, rows }),
};

async function attached(
  { chat, process }: { readonly chat: string; readonly process: string },
  call: Call,
): Promise<Process> {
  return (await startedSandbox(call, chat)).attach(process, { signal: call.signal });
}
