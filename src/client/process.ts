/** A process in a sandbox, over HTTP: its output arrives as events from any offset, also after a lost connection. */

import type { Cancel } from '../base/cancel.ts';
import { bytesOf } from '../contract/encoding.ts';
import type { Process, ProcessEvent } from '../seams/process.ts';
import { callsOf } from './calls.ts';
import type { ApiConnection } from './send.ts';

export interface RemoteProcess extends Process {
  /** Yields its output from an offset, up to its exit. Any number of readers. */
  output(options?: { readonly from?: number } & Cancel): AsyncGenerator<ProcessEvent>;
}

export function remoteProcess(
  connection: ApiConnection,
  chat: string,
  { id, pid, from = 0 }: { readonly id: string; readonly pid: number; readonly from?: number },
): RemoteProcess {
  const calls = callsOf(connection, 'processes');
  async function* output(options?: { readonly from?: number } & Cancel): AsyncGenerator<ProcessEvent> {
    for await (const event of calls.output(chat, id, options)) {
      if (event.type === 'exit' || event.type === 'output-lost') yield event;
      else {
        const { type, offset, ...content } = event;
        yield { type, offset, bytes: bytesOf(content) };
      }
    }
  }
  return {
    id,
    pid,
    output,
    [Symbol.asyncIterator]: () => output({ from }),
    write: (bytes) => calls.write(chat, id, bytes),
    closeStdin: () => calls.closeStdin(chat, id),
    signal: (signal) => calls.signal(chat, id, { signal }),
    kill: () => calls.signal(chat, id, { signal: 'SIGKILL', tree: true }),
    resize: ({ columns, rows }) => calls.resize(chat, id, { columns, rows }),
  };
}
