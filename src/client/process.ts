/** A process in a sandbox, over HTTP: its output comes by events from any offset, and again after a lost connection. */

import type { Cancel } from '../base/cancel.ts';
import { bytesOf } from '../contract/encoding.ts';
import { fromWire } from '../contract/old-names.ts';
import type { OutputEvent } from '../contract/processes.ts';
import type { Process, ProcessEvent, SignalName, TerminalSize } from '../seams/process.ts';
import { followEvents } from './events.ts';
import { type Connection, send } from './send.ts';

export interface RemoteProcess extends Process {
  /** Yields its output from an offset, up to its exit. Any number of readers. */
  output(options?: { readonly from?: number } & Cancel): AsyncGenerator<ProcessEvent>;
}

export function remoteProcess(
  connection: Connection,
  sandboxPath: string,
  { id, pid, from = 0 }: { readonly id: string; readonly pid: number; readonly from?: number },
): RemoteProcess {
  const path = `${sandboxPath}/processes/${encodeURIComponent(id)}`;
  const output = (options: { readonly from?: number } & Cancel = {}) => outputOf(connection, path, options);
  const post = async (where: string, json: unknown) => {
    await send(connection, 'POST', `${path}/${where}`, { json });
  };
  return {
    id,
    pid,
    output,
    [Symbol.asyncIterator]: () => output({ from }),
    async write(bytes) {
      await send(connection, 'POST', `${path}/stdin`, { body: bytes });
    },
    async closeStdin() {
      await send(connection, 'DELETE', `${path}/stdin`);
    },
    signal: (signal: SignalName) => post('signal', { signal }),
    kill: () => post('signal', { signal: 'SIGKILL', tree: true }),
    resize: ({ columns, rows }: TerminalSize) => post('resize', { columns, rows }),
  };
}

async function* outputOf(
  connection: Connection,
  path: string,
  { from = 0, signal }: { readonly from?: number } & Cancel,
): AsyncGenerator<ProcessEvent> {
  const events = followEvents<Exclude<OutputEvent, { type: 'problem' }>>(connection, `${path}/output`, {
    query: { from },
    isLast: (type) => type === 'exit',
    signal,
  });
  for await (const event of events) yield processEvent(event);
}

function processEvent(event: Exclude<OutputEvent, { type: 'problem' }>): ProcessEvent {
  if (event.type === 'exit') return fromWire(event);
  if (event.type === 'output-lost') return event;
  const { type, offset, ...content } = event;
  return { type, offset, bytes: bytesOf(content) };
}
